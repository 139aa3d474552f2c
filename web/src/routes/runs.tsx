import { lazy } from "react";
import { createRoute } from "@tanstack/react-router";
import { PERIODS, type Period } from "../lib/periods.ts";
import { RUN_STATUSES } from "../lib/statuses.ts";
import type { RunsSearch } from "../pages/runs/run-filter.ts";
import { inside } from "./inside.tsx";
import { oneOf, someText, someTime } from "./search.ts";

const Runs = lazy(async () => ({ default: (await import("../pages/runs/runs.tsx")).Runs }));

export const runs = createRoute({
  getParentRoute: () => inside,
  path: "/runs",
  validateSearch: ({ status, agent, by, when, from, to }): RunsSearch => ({
    ...oneOf("status", RUN_STATUSES, status),
    ...someText("agent", agent),
    ...someText("by", by),
    ...oneOf("when", Object.keys(PERIODS) as Period[], when),
    ...someTime("from", from),
    ...someTime("to", to),
  }),
  component: function RunsRoute() {
    return <Runs search={runs.useSearch()} />;
  },
});
