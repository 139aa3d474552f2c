/** The SQL of agents and their versions. */
import type { AgentId, OrganizationId, ProjectId, UserId } from "../lib/ids.ts";
import type { PageRequest } from "../lib/page.ts";
import type { Database, Query, Row } from "../storage/database.ts";
import type { AgentStatus } from "../storage/schema.ts";
import type { Agent, AgentVersion } from "./agent.ts";

export const COLUMNS = `id, organization_id, project_id, handle, name, description, status, published_version,
  draft_version, concurrency_limit, created_at, updated_at`;

export const agentOf = (row: Row): Agent => ({
  id: row.id,
  organizationId: row.organization_id,
  projectId: row.project_id,
  handle: row.handle,
  name: row.name,
  description: row.description,
  status: row.status,
  publishedVersion: row.published_version,
  draftVersion: row.draft_version,
  concurrencyLimit: row.concurrency_limit,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});

const versionOf = (row: Row): AgentVersion => ({
  agentId: row.agent_id,
  version: row.version,
  source: row.source,
  createdBy: row.created_by,
  createdAt: row.created_at,
});

export async function readAgentRow(
  database: Database,
  organizationId: OrganizationId,
  id: AgentId,
): Promise<Agent | undefined> {
  const [row] = await database.query(
    `select ${COLUMNS} from agents where organization_id = $1 and id = $2`,
    [organizationId, id],
    organizationId,
  );
  return row && agentOf(row);
}

export async function readAgentRows(
  database: Database,
  organizationId: OrganizationId,
  ids: readonly AgentId[],
): Promise<Agent[]> {
  const rows = await database.query(
    `select ${COLUMNS} from agents where organization_id = $1 and id = any($2::uuid[])`,
    [organizationId, ids],
    organizationId,
  );
  return rows.map(agentOf);
}

/** By the handles of its project and its own. */
export async function findAgentRow(
  database: Database,
  organizationId: OrganizationId,
  project: string,
  handle: string,
): Promise<Agent | undefined> {
  const [row] = await database.query(
    `select ${COLUMNS} from agents where organization_id = $1 and handle = $3 and project_id = (
       select id from projects where organization_id = $1 and handle = $2)`,
    [organizationId, project, handle],
    organizationId,
  );
  return row && agentOf(row);
}

/** By name, without archived ones. */
export async function listAgentRows(
  database: Database,
  organizationId: OrganizationId,
  { projectId, most }: { projectId?: ProjectId | undefined; most: number },
): Promise<Agent[]> {
  const rows = await database.query(
    `select ${COLUMNS} from agents
      where organization_id = $1 and ($2::uuid is null or project_id = $2) and status <> 'archived'
      order by name, id limit $3`,
    [organizationId, projectId ?? null, most],
    organizationId,
  );
  return rows.map(agentOf);
}

export type PageFilter = { projectId?: ProjectId | undefined; status?: readonly AgentStatus[] | undefined };

/** Newest first, one more than asked for. */
export async function pageOfAgentRows(
  database: Database,
  organizationId: OrganizationId,
  { first, after }: PageRequest,
  { projectId, status }: PageFilter,
): Promise<Agent[]> {
  const rows = await database.query(
    `select ${COLUMNS} from agents
      where organization_id = $1 and ($2::uuid is null or id < $2)
        and ($3::uuid is null or project_id = $3) and ($4::text[] is null or status = any($4))
      order by id desc limit $5`,
    [organizationId, after ?? null, projectId ?? null, status ?? null, first + 1],
    organizationId,
  );
  return rows.map(agentOf);
}

/** The last published first, one more than asked for; `after` is a version's text. */
export async function pageOfVersionRows(
  database: Database,
  organizationId: OrganizationId,
  agentId: AgentId,
  { first, after }: PageRequest,
): Promise<AgentVersion[]> {
  const rows = await database.query(
    `select agent_id, version, source, created_by, created_at from agent_versions
      where organization_id = $1 and agent_id = $2
        and ($3::text is null or (created_at, version) < (
          select created_at, version from agent_versions where organization_id = $1 and agent_id = $2 and version = $3))
      order by created_at desc, version desc limit $4`,
    [organizationId, agentId, after ?? null, first + 1],
    organizationId,
  );
  return rows.map(versionOf);
}

export async function readSource(
  query: Query,
  organizationId: OrganizationId,
  agentId: AgentId,
  version: string,
): Promise<string | undefined> {
  const [row] = await query(
    "select source from agent_versions where organization_id = $1 and agent_id = $2 and version = $3",
    [organizationId, agentId, version],
    organizationId,
  );
  return row?.source;
}

export type NewAgent = Omit<
  Agent,
  "publishedVersion" | "draftVersion" | "concurrencyLimit" | "createdAt" | "updatedAt"
> & {
  now: number;
};

/** The project's agent of that handle, made when there is none. Its row is locked until the transaction ends. */
export async function lockAgent(query: Query, agent: NewAgent): Promise<Agent> {
  const [row] = await query(
    `insert into agents (organization_id, id, project_id, handle, name, description, status, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $8)
     on conflict (organization_id, project_id, handle) do update set handle = excluded.handle
     returning ${COLUMNS}`,
    [
      agent.organizationId,
      agent.id,
      agent.projectId,
      agent.handle,
      agent.name,
      agent.description,
      agent.status,
      new Date(agent.now),
    ],
  );
  return agentOf(row!);
}

export type NewVersion = Omit<AgentVersion, "createdBy" | "createdAt"> & {
  organizationId: OrganizationId;
  createdBy: UserId;
  now: number;
};

export const insertVersion = (query: Query, version: NewVersion): Promise<unknown> =>
  query(
    `insert into agent_versions (organization_id, agent_id, version, source, created_by, created_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [
      version.organizationId,
      version.agentId,
      version.version,
      version.source,
      version.createdBy,
      new Date(version.now),
    ],
  );

export async function updatePublished(
  query: Query,
  agent: Pick<Agent, "organizationId" | "id" | "name" | "description" | "status" | "publishedVersion">,
  now: number,
): Promise<Agent> {
  const [row] = await query(
    `update agents set name = $3, description = $4, status = $5, published_version = $6, updated_at = $7
      where organization_id = $1 and id = $2 returning ${COLUMNS}`,
    [
      agent.organizationId,
      agent.id,
      agent.name,
      agent.description,
      agent.status,
      agent.publishedVersion,
      new Date(now),
    ],
  );
  return agentOf(row!);
}

/** Only while the agent is published or not, as it was when the change was allowed; undefined otherwise. */
export async function updateStatus(
  database: Database,
  agent: Agent,
  status: AgentStatus,
  now: number,
): Promise<Agent | undefined> {
  const [row] = await database.query(
    `update agents set status = $3, updated_at = $5
      where organization_id = $1 and id = $2 and (published_version is not null) = $4 returning ${COLUMNS}`,
    [agent.organizationId, agent.id, status, agent.publishedVersion !== null, new Date(now)],
    agent.organizationId,
  );
  return row && agentOf(row);
}

export async function updateLimit(
  query: Query,
  organizationId: OrganizationId,
  id: AgentId,
  limit: number | null,
  now: number,
): Promise<Agent | undefined> {
  const [row] = await query(
    `update agents set concurrency_limit = $3, updated_at = $4 where organization_id = $1 and id = $2 returning ${COLUMNS}`,
    [organizationId, id, limit, new Date(now)],
  );
  return row && agentOf(row);
}
