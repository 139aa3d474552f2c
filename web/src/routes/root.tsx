import { createRootRouteWithContext, Outlet } from "@tanstack/react-router";
import type { Session } from "../api/session.ts";
import { Entrance } from "../components/entrance.tsx";
import { Problem } from "../components/notice.tsx";
import { problemOf, reload } from "../components/page-error.tsx";

export { PageError } from "../components/page-error.tsx";

/** The context of every route. */
export type RouteContext = { session: Session };

/** Where there is no frame, either. */
export const EntranceError = ({ error }: { error: unknown }) => (
  <Entrance title="This page cannot be shown">
    <Problem refusal={problemOf(error)} />
    {reload}
  </Entrance>
);

export const root = createRootRouteWithContext<RouteContext>()({
  component: Outlet,
  errorComponent: EntranceError,
});
