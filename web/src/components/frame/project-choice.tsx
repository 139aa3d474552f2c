import type { FrameQuery } from "../../api/documents.ts";
import { Icon, SHAPES } from "../icon.tsx";
import { useChooseProject, useProject } from "../project.ts";
import classes from "./frame.module.css";

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
