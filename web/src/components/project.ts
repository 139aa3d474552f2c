import { useNavigate, useRouterState, useSearch } from "@tanstack/react-router";
import { PLACES } from "./places.ts";

/** The project that the address names: its agents, runs and approvals are shown alone. */
export const useProject = (): string | undefined => useSearch({ strict: false }).project;

/** Chooses a project; a page of one agent or run gives way to the list that it is in. */
export function useChooseProject(): (project: string | undefined) => void {
  const navigate = useNavigate();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const list = PLACES.find(({ to }) => path.startsWith(`${to}/`) && to !== "/settings")?.to;
  return (project) =>
    void navigate({
      to: list ?? ".",
      search: (before) => ({ ...(list ? {} : before), after: undefined, project }),
    });
}
