import { lazy } from "react";
import { createRoute } from "@tanstack/react-router";
import { PARTS, type RunSearch } from "../pages/run/search.ts";
import { inside } from "./inside.tsx";
import { oneOf, someNumber } from "./search.ts";

const Run = lazy(async () => ({ default: (await import("../pages/run/run.tsx")).Run }));

export const run = createRoute({
  getParentRoute: () => inside,
  path: "/runs/$runId",
  validateSearch: ({ step, part, show }): RunSearch => ({
    ...someNumber("step", step),
    ...oneOf("part", PARTS, part),
    ...oneOf("show", ["failed", "slow"], show),
  }),
  component: function RunRoute() {
    const { runId } = run.useParams();
    return <Run key={runId} id={runId} search={run.useSearch()} />;
  },
});
