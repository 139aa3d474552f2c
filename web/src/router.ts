/** All addresses of the UI. What a page shows is in its address. */
import { createRouter } from "@tanstack/react-router";
import { BASE } from "./api/base.ts";
import type { Session } from "./api/session.ts";
import { agent } from "./routes/agent.tsx";
import { agents } from "./routes/agents.tsx";
import { approvals } from "./routes/approvals.tsx";
import { describe } from "./routes/describe.tsx";
import { event } from "./routes/event.tsx";
import { events } from "./routes/events.tsx";
import { home } from "./routes/home.tsx";
import { inside } from "./routes/inside.tsx";
import { invitation } from "./routes/invitation.tsx";
import { linkedApproval } from "./routes/linked-approval.tsx";
import { newAgent } from "./routes/new-agent.tsx";
import { nowhere } from "./routes/nowhere.tsx";
import { resetPassword } from "./routes/reset-password.tsx";
import { PageError, root } from "./routes/root.tsx";
import { run } from "./routes/run.tsx";
import { runs } from "./routes/runs.tsx";
import { settings } from "./routes/settings.tsx";
import { settingsPart } from "./routes/settings-part.tsx";
import { setup } from "./routes/setup.tsx";
import { signIn } from "./routes/sign-in.tsx";

const routeTree = root.addChildren([
  home,
  setup,
  signIn,
  invitation,
  resetPassword,
  linkedApproval,
  inside.addChildren([
    agents,
    newAgent,
    agent,
    describe,
    runs,
    run,
    approvals,
    events,
    event,
    settings,
    settingsPart,
    nowhere,
  ]),
]);

export const createUiRouter = (session: Session) =>
  createRouter({
    routeTree,
    basepath: BASE,
    context: { session },
    scrollRestoration: true,
    defaultErrorComponent: PageError,
  });

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createUiRouter>;
  }
}
