import { createRoute, useLocation } from "@tanstack/react-router";
import { Setup } from "../pages/setup/setup.tsx";
import { root } from "./root.tsx";

export const setup = createRoute({
  getParentRoute: () => root,
  path: "/setup",
  component: function SetupRoute() {
    const { hash } = useLocation();
    return <Setup token={new URLSearchParams(hash).get("setup") ?? ""} />;
  },
});
