/** The SQL of agents. */
import type { AgentId, OrganizationId, ProjectId } from "../lib/ids.ts";
import { conflict, Refusal } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";
import type { PageRequest } from "../lib/page.ts";
import { reachedAgent, reachesAgent, type Within } from "../lib/reach.ts";
import type { Database, Query, Row } from "../storage/database.ts";
import type { AgentStatus } from "../storage/schema.ts";
import type { Agent } from "./agent.ts";

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

export async function readAgentRow(database: Database, within: Within, id: AgentId): Promise<Agent | undefined> {
  const { organizationId } = within;
  const [row] = await database.query(
    `select ${COLUMNS} from agents where organization_id = $1 and id = $2`,
    [organizationId, id],
    organizationId,
  );
  return reachedAgent(within, row && agentOf(row));
}

export async function readAgentRows(database: Database, within: Within, ids: readonly AgentId[]): Promise<Agent[]> {
  const { organizationId } = within;
  const rows = await database.query(
    `select ${COLUMNS} from agents where organization_id = $1 and id = any($2::uuid[])`,
    [organizationId, ids],
    organizationId,
  );
  return rows.map(agentOf).filter((agent) => reachesAgent(within, agent));
}

/** By its project's handle and its own. */
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

/** By the beginning of `<project>_<handle>`, and the first characters of its SHA-256. Among 10,000 agents in 20 ms. */
export async function findAgentRowByHash(
  database: Database,
  organizationId: OrganizationId,
  beginning: string,
  hash: string,
): Promise<Agent | undefined> {
  const [row] = await database.query(
    `select ${COLUMNS} from agents
       join (select id as in_project, handle || '_' as prefix from projects where organization_id = $1) p on in_project = project_id
      where organization_id = $1 and starts_with(prefix || handle, $2)
        and starts_with(encode(sha256(convert_to(prefix || handle, 'UTF8')), 'hex'), $3)
      order by id limit 1`,
    [organizationId, beginning, hash],
    organizationId,
  );
  return row && agentOf(row);
}

/** By name, without archived ones. */
export async function listAgentRows(
  database: Database,
  { organizationId, reach }: Within,
  { projectId, most }: { projectId?: ProjectId | undefined; most: number },
): Promise<Agent[]> {
  const rows = await database.query(
    `select ${COLUMNS} from agents
      where organization_id = $1 and ($2::uuid is null or project_id = $2) and status <> 'archived'
        and ($4::uuid[] is null or project_id = any($4) or id = any($5))
      order by name, id limit $3`,
    [organizationId, projectId ?? null, most, reach?.projectIds ?? null, reach?.agentIds ?? null],
    organizationId,
  );
  return rows.map(agentOf);
}

/** An agent's names. */
export type AgentName = Pick<Agent, "id" | "name" | "handle">;

/** All active agents, by name. */
export async function listActiveNames(
  database: Database,
  { organizationId, reach }: Within,
  most: number,
): Promise<AgentName[]> {
  const rows = await database.query(
    `select id, name, handle from agents
      where organization_id = $1 and status = 'active' and ($3::uuid[] is null or project_id = any($3) or id = any($4))
      order by name, id limit $2`,
    [organizationId, most, reach?.projectIds ?? null, reach?.agentIds ?? null],
    organizationId,
  );
  return rows.map(({ id, name, handle }) => ({ id, name, handle }));
}

/** A missing field does not filter; an empty list matches nothing. */
export type AgentFilter = {
  projectId?: readonly ProjectId[] | undefined;
  status?: readonly AgentStatus[] | undefined;
  /** A part of the name or the handle, in upper or lower case. */
  text?: string | undefined;
};

/** In which order a list of agents is; by name, then by id. */
export type AgentOrder = "newest" | "name";

/**
 * One more than asked for, after the agent with the id `after`. A text is looked for in each agent: among 10,000 with a draft of 1.5 kB, of which none
 * has it, in 28 ms.
 */
export async function pageOfAgentRows(
  database: Database,
  { organizationId, reach }: Within,
  { first, after }: PageRequest,
  { projectId, status, text }: AgentFilter,
  order: AgentOrder,
): Promise<Agent[]> {
  const rest = {
    newest: "id < $2",
    name: "(name, id) > (select name, id from agents where organization_id = $1 and id = $2)",
  };
  const rows = await database.query(
    `select ${COLUMNS} from agents
      where organization_id = $1 and ($2::uuid is null or ${rest[order]})
        and ($3::uuid[] is null or project_id = any($3)) and ($4::text[] is null or status = any($4))
        and ($5::text is null or strpos(lower(name), lower($5)) > 0 or strpos(handle, lower($5)) > 0)
        and ($7::uuid[] is null or project_id = any($7) or id = any($8))
      order by ${order === "name" ? "name, id" : "id desc"} limit $6`,
    [
      organizationId,
      after ?? null,
      projectId ?? null,
      status ?? null,
      text ?? null,
      first + 1,
      reach?.projectIds ?? null,
      reach?.agentIds ?? null,
    ],
    organizationId,
  );
  return rows.map(agentOf);
}

type NewAgent = Omit<Agent, "publishedVersion" | "draftVersion" | "concurrencyLimit" | "createdAt" | "updatedAt"> & {
  now: number;
};

/**
 * The project's agent with that handle, created if there is none. Locks its row until the transaction ends. Throws
 * FORBIDDEN in the same words for an agent that is not reached and for one that would be made and not reached, CONFLICT
 * for one too many. Agents made at the same time may exceed the limit by a few.
 */
export async function lockAgent(query: Query, within: Within, agent: NewAgent): Promise<Agent> {
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
  const locked = agentOf(row!);
  if (!reachesAgent(within, locked)) throw otherAgent(agent.handle);
  if (locked.id === agent.id) await checkCount(query, agent.organizationId);
  return locked;
}

/** With the new one. */
async function checkCount(query: Query, organizationId: OrganizationId): Promise<void> {
  const most = LIMITS.agentsPerOrganization;
  const [row] = await query("select count(*)::int as count from agents where organization_id = $1", [organizationId]);
  if (row!["count"] > most)
    throw conflict("limit_reached", `an organization has at most ${most} agents, with those that are archived`);
}

const otherAgent = (handle: string): Refusal =>
  new Refusal("FORBIDDEN", `this API key is narrowed to some agents, and ${handle} is not one of them`);

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

/** Only if the agent is still published, or still not, as when the change was allowed; otherwise undefined. */
export async function updateStatus(
  query: Query,
  agent: Agent,
  status: AgentStatus,
  now: number,
): Promise<Agent | undefined> {
  const [row] = await query(
    `update agents set status = $3, updated_at = $5
      where organization_id = $1 and id = $2 and (published_version is not null) = $4 returning ${COLUMNS}`,
    [agent.organizationId, agent.id, status, agent.publishedVersion !== null, new Date(now)],
  );
  return row && agentOf(row);
}

/** `from`: the limit before. */
export async function updateLimit(
  query: Query,
  organizationId: OrganizationId,
  id: AgentId,
  limit: number | null,
  now: number,
): Promise<{ agent: Agent; from: number | null } | undefined> {
  const [before] = await query(
    "select concurrency_limit from agents where organization_id = $1 and id = $2 for no key update",
    [organizationId, id],
  );
  const [row] = await query(
    `update agents set concurrency_limit = $3, updated_at = $4 where organization_id = $1 and id = $2 returning ${COLUMNS}`,
    [organizationId, id, limit, new Date(now)],
  );
  return before && row && { agent: agentOf(row), from: before["concurrency_limit"] };
}
