import { createRoute, useLocation } from "@tanstack/react-router";
import { Invitation } from "../pages/invitation/invitation.tsx";
import { root } from "./root.tsx";

export const invitation = createRoute({
  getParentRoute: () => root,
  path: "/invitation",
  component: function InvitationRoute() {
    const { hash } = useLocation();
    return <Invitation token={new URLSearchParams(hash).get("invitation") ?? ""} />;
  },
});
