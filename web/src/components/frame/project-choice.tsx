import { useNavigate, useRouterState, useSearch } from "@tanstack/react-router";
import type { FrameQuery } from "../../api/documents.ts";
import { Icon, SHAPES } from "../icon.tsx";
import { PLACES } from "./places.ts";
import classes from "./frame.module.css";

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

export type Projects = { projects: FrameQuery["projects"] | undefined };

export function ProjectChoice({ projects }: Projects) {
  const project = useProject();
  const choose = useChooseProject();
  const known = projects?.nodes ?? [];
  return (
    <span className={classes["choice"]}>
      <select
        aria-label="Project"
        className={classes["project"]}
        data-chosen={project !== undefined || undefined}
        value={project ?? ""}
        onChange={(event) => choose(event.currentTarget.value || undefined)}
      >
        <option value="">All projects</option>
        {project !== undefined && projects && known.every(({ id }) => id !== project) && (
          <option value={project}>Another project</option>
        )}
        {known.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
        {projects?.pageInfo.hasNextPage && <option disabled>and more, older ones</option>}
      </select>
      <Icon shape={SHAPES.chevron} size={12} />
    </span>
  );
}
