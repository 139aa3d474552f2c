/** The SQL of versions. Their texts are read only when asked for. */
import type { AgentId, AgentVersionId, OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { PageRequest } from "../lib/page.ts";
import type { Database, Query, Row } from "../storage/database.ts";
import type { AgentVersion } from "./agent.ts";

const COLUMNS = "id, organization_id, agent_id, version, created_by_kind, created_by_id, created_at";

const versionOf = (row: Row): AgentVersion => ({
  id: row.id,
  organizationId: row.organization_id,
  agentId: row.agent_id,
  version: row.version,
  createdBy: { kind: row.created_by_kind, id: row.created_by_id },
  createdAt: row.created_at,
});

export async function readVersionRow(
  database: Database,
  organizationId: OrganizationId,
  id: AgentVersionId,
): Promise<AgentVersion | undefined> {
  const [row] = await database.query(
    `select ${COLUMNS} from agent_versions where organization_id = $1 and id = $2`,
    [organizationId, id],
    organizationId,
  );
  return row && versionOf(row);
}

/** The columns that name a version besides its id. */
export type VersionKey = Pick<AgentVersion, "agentId" | "version">;
export const nameOfVersion = ({ agentId, version }: VersionKey): string => `${agentId} ${version}`;

/** Those that there are, in any order. */
export async function readVersionRows(
  database: Database,
  organizationId: OrganizationId,
  keys: readonly VersionKey[],
): Promise<AgentVersion[]> {
  const rows = await database.query(
    `select ${COLUMNS} from agent_versions join unnest($2::uuid[], $3::text[]) as asked (agent_id, version)
        using (agent_id, version)
      where organization_id = $1`,
    [organizationId, keys.map(({ agentId }) => agentId), keys.map(({ version }) => version)],
    organizationId,
  );
  return rows.map(versionOf);
}

/** The last published first, one more than asked for; `after` is a version's text. */
export async function pageOfVersionRows(
  database: Database,
  organizationId: OrganizationId,
  agentId: AgentId,
  { first, after }: PageRequest,
): Promise<AgentVersion[]> {
  const rows = await database.query(
    `select ${COLUMNS} from agent_versions
      where organization_id = $1 and agent_id = $2
        and ($3::text is null or (created_at, version) < (
          select created_at, version from agent_versions where organization_id = $1 and agent_id = $2 and version = $3))
      order by created_at desc, version desc limit $4`,
    [organizationId, agentId, after ?? null, first + 1],
    organizationId,
  );
  return rows.map(versionOf);
}

/** By id; null for a text that is not read, as all together are larger than an answer may be. */
export async function readSourceRows(
  query: Query,
  organizationId: OrganizationId,
  ids: readonly AgentVersionId[],
): Promise<Map<AgentVersionId, string | null>> {
  const rows = await query(
    `select id, case when sum(octet_length(source)) over (order by id) <= $3 then source end as source
      from agent_versions where organization_id = $1 and id = any($2::uuid[])`,
    [organizationId, ids, LIMITS.answerBytes],
    organizationId,
  );
  return new Map(rows.map((row) => [row["id"] as AgentVersionId, row["source"] as string | null]));
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

export async function countVersions(query: Query, organizationId: OrganizationId, agentId: AgentId): Promise<number> {
  const [row] = await query(
    "select count(*)::int as count from agent_versions where organization_id = $1 and agent_id = $2",
    [organizationId, agentId],
  );
  return row!["count"];
}

/** `secrets`: what it names under `use.secrets`. */
type NewVersion = Omit<AgentVersion, "createdAt"> & { source: string; secrets: readonly string[]; now: number };

export const insertVersion = (query: Query, version: NewVersion): Promise<unknown> =>
  query(
    `insert into agent_versions
      (organization_id, id, agent_id, version, source, secrets, created_by_kind, created_by_id, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      version.organizationId,
      version.id,
      version.agentId,
      version.version,
      version.source,
      version.secrets,
      version.createdBy.kind,
      version.createdBy.id,
      new Date(version.now),
    ],
  );
