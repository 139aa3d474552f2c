import { lazy } from "react";
import { createRoute } from "@tanstack/react-router";
import { inside } from "./inside.tsx";

const NewAgent = lazy(async () => ({ default: (await import("../pages/agent/new-agent.tsx")).NewAgent }));

export const newAgent = createRoute({
  getParentRoute: () => inside,
  path: "/agents/new",
  component: function NewAgentRoute() {
    return <NewAgent project={newAgent.useSearch().project} />;
  },
});
