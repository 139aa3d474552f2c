/** The SQL of API keys. */
import type { AgentId, ApiKeyId, OrganizationId, ProjectId, UserId } from "../../lib/ids.ts";
import { pageOf, type Page, type PageRequest } from "../../lib/page.ts";
import type { Database, Query, Row } from "../../storage/database.ts";
import type { ApiKey } from "../api-key.ts";

const COLUMNS = `k.id, k.name, k.hint, k.user_id, k.scopes, k.project_ids, k.agent_ids, k.created_at, k.expires_at, k.revoked_at,
  k.last_used_at`;

const keyOf = (row: Row): ApiKey => ({
  id: row.id,
  name: row.name,
  hint: row.hint,
  createdBy: { kind: "user", id: row.user_id },
  scopes: row.scopes,
  projectIds: row.project_ids,
  agentIds: row.agent_ids,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  revokedAt: row.revoked_at,
  lastUsedAt: row.last_used_at,
});

type NewApiKey = {
  id: ApiKeyId;
  organizationId: OrganizationId;
  userId: UserId;
  name: string;
  hint: string;
  secretHash: Buffer;
  scopes: readonly string[];
  projectIds: readonly ProjectId[] | null;
  agentIds: readonly AgentId[] | null;
  now: number;
  expiresAt: Date | null;
  /** Counts the organization's keys that are neither revoked nor expired. Keys created at the same time may exceed the limit by a few. */
  most: number;
};

/** Undefined when the organization has the most keys that it may have. */
export async function insertApiKey(query: Query, key: NewApiKey): Promise<ApiKey | undefined> {
  const [row] = await query(
    `with k as (
       insert into api_keys (organization_id, id, user_id, name, hint, secret_hash, scopes, created_at, expires_at, project_ids, agent_ids)
       select $1, $2, $3, $4, $5, $6, $7, $8, $9, $11, $12
        where (select count(*) from api_keys
                where organization_id = $1 and revoked_at is null and (expires_at is null or expires_at > $8)) < $10::int
       returning *)
     select ${COLUMNS} from k`,
    [
      key.organizationId,
      key.id,
      key.userId,
      key.name,
      key.hint,
      key.secretHash,
      key.scopes,
      new Date(key.now),
      key.expiresAt,
      key.most,
      key.projectIds,
      key.agentIds,
    ],
  );
  return row && keyOf(row);
}

/** Newest first, including revoked and expired ones until they are deleted (`forget-api-keys.ts`). */
export async function pageOfApiKeys(
  database: Database,
  organizationId: OrganizationId,
  { first, after }: PageRequest,
): Promise<Page<ApiKey>> {
  const rows = await database.query(
    `select ${COLUMNS} from api_keys k
      where k.organization_id = $1 and ($2::uuid is null or k.id < $2)
      order by k.id desc limit $3`,
    [organizationId, after ?? null, first + 1],
    organizationId,
  );
  return pageOf(rows.map(keyOf), first);
}

export async function readApiKeyRow(
  database: Database,
  organizationId: OrganizationId,
  id: ApiKeyId,
): Promise<ApiKey | undefined> {
  const [row] = await database.query(
    `select ${COLUMNS} from api_keys k where k.organization_id = $1 and k.id = $2`,
    [organizationId, id],
    organizationId,
  );
  return row && keyOf(row);
}

export async function readApiKeyNames(
  database: Database,
  organizationId: OrganizationId,
  ids: readonly ApiKeyId[],
): Promise<Map<ApiKeyId, string>> {
  const rows = await database.query(
    `select id, name from api_keys where organization_id = $1 and id = any($2::uuid[])
     union select id, name from former_api_keys where organization_id = $1 and id = any($2::uuid[])`,
    [organizationId, ids],
    organizationId,
  );
  return new Map(rows.map((row) => [row.id as ApiKeyId, row.name as string]));
}

/** The key as it is then; the first revocation's time stays. Undefined when there is no such key. `isFirst`: it was not revoked before. */
export async function revokeApiKeyRow(
  query: Query,
  organizationId: OrganizationId,
  id: ApiKeyId,
  now: number,
): Promise<{ key: ApiKey; isFirst: boolean } | undefined> {
  const [row] = await query(
    `with before as (
       select id, revoked_at is null as is_first from api_keys where organization_id = $1 and id = $2 for update),
     k as (
       update api_keys set revoked_at = coalesce(revoked_at, $3)
        where organization_id = $1 and id = (select id from before) returning *)
     select ${COLUMNS}, is_first from k cross join before`,
    [organizationId, id, new Date(now)],
  );
  return row && { key: keyOf(row), isFirst: row["is_first"] };
}
