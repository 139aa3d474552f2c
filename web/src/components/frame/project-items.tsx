import { Menu } from "@mantine/core";
import { useChooseProject, useProject } from "../project.ts";
import type { Projects } from "./project-choice.tsx";

/** The choice of a project in a menu, for where the frame has no head. */
export function ProjectItems({ projects }: Projects) {
  const project = useProject();
  const choose = useChooseProject();
  const known = projects?.nodes ?? [];
  if (known.length < 2) return null;
  return (
    <>
      <Menu.Label>Project</Menu.Label>
      <Menu.RadioGroup value={project ?? ""} onChange={(value) => choose(value || undefined)}>
        <Menu.RadioItem value="">All projects</Menu.RadioItem>
        {known.map(({ id, name }) => (
          <Menu.RadioItem key={id} value={id}>
            {name}
          </Menu.RadioItem>
        ))}
      </Menu.RadioGroup>
      {projects?.pageInfo.hasNextPage && <Menu.Label>and more, older ones</Menu.Label>}
      <Menu.Divider />
    </>
  );
}
