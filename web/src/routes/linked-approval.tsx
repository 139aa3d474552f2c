import { createRoute, useLocation } from "@tanstack/react-router";
import { LinkedApproval } from "../pages/linked-approval/linked-approval.tsx";
import { root } from "./root.tsx";

export const linkedApproval = createRoute({
  getParentRoute: () => root,
  path: "/approval",
  component: function LinkedApprovalRoute() {
    const { hash } = useLocation();
    const token = new URLSearchParams(hash).get("approval") ?? "";
    return <LinkedApproval key={token} token={token} />;
  },
});
