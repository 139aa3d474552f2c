import { lazy } from "react";
import { createRoute } from "@tanstack/react-router";
import { inside } from "./inside.tsx";

const Settings = lazy(async () => ({ default: (await import("../pages/settings/settings.tsx")).Settings }));

/** Leads on to the first part that the caller may see. */
export const settings = createRoute({
  getParentRoute: () => inside,
  path: "/settings",
  component: () => <Settings search={{}} />,
});
