import { createRoute, redirect } from "@tanstack/react-router";
import { root } from "./root.tsx";

/** `/`: also where the links of setup, invitations, forgotten passwords and approvals lead, with their token in the fragment. */
export const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  beforeLoad: ({ location }) => {
    const fragment = new URLSearchParams(location.hash);
    if (fragment.has("setup")) throw redirect({ to: "/setup", hash: location.hash, replace: true });
    if (fragment.has("invitation")) throw redirect({ to: "/invitation", hash: location.hash, replace: true });
    if (fragment.has("password-reset")) throw redirect({ to: "/reset-password", hash: location.hash, replace: true });
    if (fragment.has("approval")) throw redirect({ to: "/approval", hash: location.hash, replace: true });
    throw redirect({ to: "/agents", replace: true });
  },
});
