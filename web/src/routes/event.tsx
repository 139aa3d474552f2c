import { lazy } from "react";
import { createRoute } from "@tanstack/react-router";
import { inside } from "./inside.tsx";

const Event = lazy(async () => ({ default: (await import("../pages/events/event.tsx")).Event }));

export const event = createRoute({
  getParentRoute: () => inside,
  path: "/events/$eventId",
  component: function EventRoute() {
    const { eventId } = event.useParams();
    return <Event key={eventId} id={eventId} />;
  },
});
