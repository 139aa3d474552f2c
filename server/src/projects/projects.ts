/** Projects: made, listed, read. */
import { record } from "../audit/record.ts";
import { conflict } from "../lib/errors.ts";
import { newId, type OrganizationId, type ProjectId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { checkPage, pageOf, type Page, type PageRequest } from "../lib/page.ts";
import { showsProject, type Within } from "../lib/reach.ts";
import type { Database, Query, Row } from "../storage/database.ts";
import { whoOf, type Acting, type Caller } from "../auth/caller.ts";
import { handleProblem, nameProblem, refuseProblems, tidyName } from "../auth/names.ts";
import type { Clock } from "../lib/clock.ts";
import type { Project } from "./project.ts";

/** The parts that the operations need; the handles of other rooms have them. */
export type Projects = { database: Database; clock: Clock };

const projectOf = (row: Row): Project => ({
  id: row.id,
  handle: row.handle,
  name: row.name,
  createdAt: row.created_at,
});

const shown = (within: Within, project: Project | undefined): Project | undefined =>
  project && showsProject(within, project.id) ? project : undefined;

/** Throws BAD_USER_INPUT, or CONFLICT if the organization has a project with that handle or `LIMITS.projectsPerOrganization` projects. */
export async function createProject(
  projects: Projects,
  caller: Acting,
  request: { handle: string; name: string },
): Promise<Project> {
  const { handle, name } = request;
  refuseProblems([handleProblem(handle, "input.handle"), nameProblem(name, "input.name")]);
  const now = projects.clock.now();
  return projects.database.transaction(async (query) => {
    const [row] = await query(
      `insert into projects (organization_id, id, handle, name, created_at) values ($1, $2, $3, $4, $5)
       on conflict (organization_id, handle) do nothing
       returning id, handle, name, created_at`,
      [caller.organizationId, newId(), handle, tidyName(name), new Date(now)],
    );
    if (!row) throw conflict("handle_taken", `there is already a project with the handle ${handle}`);
    await checkCount(query, caller.organizationId);
    const project = projectOf(row);
    const subject = { kind: "project", id: project.id, name: project.name } as const;
    await record(query, whoOf(caller), now, { action: "project_created", subject, detail: { handle } });
    return project;
  }, caller.organizationId);
}

/** With the new one. Projects made at the same time may exceed the limit by a few. */
async function checkCount(query: Query, organizationId: OrganizationId): Promise<void> {
  const most = LIMITS.projectsPerOrganization;
  const [row] = await query("select count(*)::int as count from projects where organization_id = $1", [organizationId]);
  if (row!["count"] > most) throw conflict("limit_reached", `an organization has at most ${most} projects`);
}

/** Newest first. `after` is a project's id. */
export async function listProjects(projects: Projects, caller: Caller, request: PageRequest): Promise<Page<Project>> {
  const { first, after } = checkPage(request);
  const { organizationId, reach } = caller;
  const rows = await projects.database.query(
    `select id, handle, name, created_at from projects
      where organization_id = $1 and ($2::uuid is null or id < $2) and ($4::uuid[] is null or id = any($4))
      order by id desc limit $3`,
    [organizationId, after ?? null, first + 1, reach ? [...reach.projectIds, ...reach.shownProjectIds] : null],
    organizationId,
  );
  return pageOf(rows.map(projectOf), first);
}

export async function readProject(
  projects: Pick<Projects, "database">,
  within: Within,
  id: ProjectId,
): Promise<Project | undefined> {
  const { organizationId } = within;
  const [row] = await projects.database.query(
    "select id, handle, name, created_at from projects where organization_id = $1 and id = $2",
    [organizationId, id],
    organizationId,
  );
  return shown(within, row && projectOf(row));
}

export async function findProject(
  projects: Pick<Projects, "database">,
  within: Within,
  handle: string,
): Promise<Project | undefined> {
  const { organizationId } = within;
  const [row] = await projects.database.query(
    "select id, handle, name, created_at from projects where organization_id = $1 and handle = $2",
    [organizationId, handle],
    organizationId,
  );
  return shown(within, row && projectOf(row));
}

/** Those of `ids` that there are, for a loader. */
export async function readProjects(
  projects: Pick<Projects, "database">,
  within: Within,
  ids: readonly ProjectId[],
): Promise<Map<ProjectId, Project>> {
  const { organizationId } = within;
  const rows = await projects.database.query(
    "select id, handle, name, created_at from projects where organization_id = $1 and id = any($2::uuid[])",
    [organizationId, ids.filter((id) => showsProject(within, id))],
    organizationId,
  );
  return new Map(rows.map((row) => [row.id as ProjectId, projectOf(row)]));
}
