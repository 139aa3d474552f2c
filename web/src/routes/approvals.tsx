import { lazy } from "react";
import { createRoute } from "@tanstack/react-router";
import type { ApprovalsSearch } from "../pages/approvals/approvals.tsx";
import { inside } from "./inside.tsx";
import { oneOf, someText } from "./search.ts";

const Approvals = lazy(async () => ({ default: (await import("../pages/approvals/approvals.tsx")).Approvals }));

export const approvals = createRoute({
  getParentRoute: () => inside,
  path: "/approvals",
  validateSearch: ({ show, open }): ApprovalsSearch => ({
    ...oneOf("show", ["mine", "decided"], show),
    ...someText("open", open),
  }),
  component: function ApprovalsRoute() {
    return <Approvals search={approvals.useSearch()} />;
  },
});
