import { lazy } from "react";
import { createRoute } from "@tanstack/react-router";
import type { EventsSearch } from "../pages/events/events.tsx";
import { inside } from "./inside.tsx";
import { onlyTrue, someText } from "./search.ts";

const Events = lazy(async () => ({ default: (await import("../pages/events/events.tsx")).Events }));

export const events = createRoute({
  getParentRoute: () => inside,
  path: "/events",
  validateSearch: ({ source, publish }): EventsSearch => ({
    ...someText("source", source),
    ...onlyTrue("publish", publish),
  }),
  component: function EventsRoute() {
    return <Events search={events.useSearch()} />;
  },
});
