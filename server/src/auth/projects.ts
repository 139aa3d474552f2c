/** Projects: made, listed, read. */
import { conflict } from "../lib/errors.ts";
import { newId, type OrganizationId, type ProjectId } from "../lib/ids.ts";
import { checkPage, pageOf, type Page, type PageRequest } from "../lib/page.ts";
import type { Row } from "../storage/database.ts";
import type { Auth } from "./auth.ts";
import type { Caller } from "./caller.ts";
import { handleProblem, nameProblem, refuseProblems, tidyName } from "./names.ts";
import type { Project } from "./project.ts";

const projectOf = (row: Row): Project => ({
  id: row.id,
  handle: row.handle,
  name: row.name,
  createdAt: row.created_at,
});

/** Throws BAD_USER_INPUT, or CONFLICT when the organization has a project of that handle. */
export async function createProject(
  auth: Auth,
  caller: Caller,
  request: { handle: string; name: string },
): Promise<Project> {
  const { handle, name } = request;
  refuseProblems([handleProblem(handle, "input.handle"), nameProblem(name, "input.name")]);
  const [row] = await auth.database.query(
    `insert into projects (organization_id, id, handle, name, created_at) values ($1, $2, $3, $4, $5)
     on conflict (organization_id, handle) do nothing
     returning id, handle, name, created_at`,
    [caller.organizationId, newId(), handle, tidyName(name), new Date(auth.clock.now())],
    caller.organizationId,
  );
  if (!row) throw conflict(`there is already a project with the handle ${handle}`);
  return projectOf(row);
}

/** Newest first. `after` is a project's id. */
export async function listProjects(auth: Auth, caller: Caller, request: PageRequest): Promise<Page<Project>> {
  const { first, after } = checkPage(request);
  const rows = await auth.database.query(
    `select id, handle, name, created_at from projects
      where organization_id = $1 and ($2::uuid is null or id < $2)
      order by id desc limit $3`,
    [caller.organizationId, after ?? null, first + 1],
    caller.organizationId,
  );
  return pageOf(rows.map(projectOf), first);
}

export async function readProject(
  auth: Pick<Auth, "database">,
  organizationId: OrganizationId,
  id: ProjectId,
): Promise<Project | undefined> {
  const [row] = await auth.database.query(
    "select id, handle, name, created_at from projects where organization_id = $1 and id = $2",
    [organizationId, id],
    organizationId,
  );
  return row && projectOf(row);
}

/** Those of `ids` that the organization has, for a loader. */
export async function readProjects(
  auth: Pick<Auth, "database">,
  organizationId: OrganizationId,
  ids: readonly ProjectId[],
): Promise<Map<ProjectId, Project>> {
  const rows = await auth.database.query(
    "select id, handle, name, created_at from projects where organization_id = $1 and id = any($2::uuid[])",
    [organizationId, ids],
    organizationId,
  );
  return new Map(rows.map((row) => [row.id as ProjectId, projectOf(row)]));
}
