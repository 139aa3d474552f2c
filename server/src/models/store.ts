/** The SQL of model connections. */
import type { Actor } from "../lib/actor.ts";
import type { ModelConnectionId, OrganizationId, ProjectId } from "../lib/ids.ts";
import type { Sealed } from "../secrets/rotate-key.ts";
import type { Owner, Sealer } from "../secrets/seal.ts";
import type { Database, Query, Row } from "../storage/database.ts";
import type { ModelLimits, ModelPrices } from "../llm/connection.ts";
import type { ModelConnection } from "./model-connection.ts";

const COLUMNS = `id, organization_id, project_id, name, provider, base_url, model, sealed_key is not null as has_key, api_key_header, is_default,
  input_price, output_price, cached_input_price, currency, concurrency, tokens_per_day, cost_per_day, updated_at`;

const connectionOf = (row: Row): ModelConnection => ({
  id: row.id,
  organizationId: row.organization_id,
  projectId: row.project_id,
  name: row.name,
  provider: row.provider,
  baseUrl: row.base_url,
  model: row.model,
  hasKey: row.has_key,
  apiKeyHeader: row.api_key_header,
  isDefault: row.is_default,
  prices: pricesOf(row),
  limits: limitsOf(row),
  updatedAt: row.updated_at,
});

const pricesOf = ({ input_price, output_price, cached_input_price, currency }: Row): ModelPrices | null =>
  currency === null
    ? null
    : {
        inputPerMillion: input_price,
        outputPerMillion: output_price,
        cachedInputPerMillion: cached_input_price,
        currency,
      };

function limitsOf({ concurrency, tokens_per_day: tokens, cost_per_day: costPerDay }: Row): ModelLimits | null {
  const limits = { concurrency, tokensPerDay: tokens === null ? null : Number(tokens), costPerDay };
  return Object.values(limits).every((limit) => limit === null) ? null : limits;
}

/** The owner of a connection's key, for its seal. A secret can't have such a name. */
export const ownerOf = ({
  organizationId,
  projectId,
  id,
}: Pick<ModelConnection, "organizationId" | "projectId" | "id">): Owner => ({
  organizationId,
  projectId,
  name: `model ${id}`,
});

/** By name. */
export async function readConnections(
  database: Database,
  organizationId: OrganizationId,
  projectId: ProjectId,
): Promise<ModelConnection[]> {
  const rows = await database.query(
    `select ${COLUMNS} from model_connections where organization_id = $1 and project_id = $2 order by name collate "C"`,
    [organizationId, projectId],
    organizationId,
  );
  return rows.map(connectionOf);
}

export async function readWithKeys(
  database: Database,
  organizationId: OrganizationId,
  projectId: ProjectId,
): Promise<{ connection: ModelConnection; sealedKey: string | null }[]> {
  const rows = await database.query(
    `select ${COLUMNS}, sealed_key from model_connections where organization_id = $1 and project_id = $2`,
    [organizationId, projectId],
    organizationId,
  );
  return rows.map((row) => ({ connection: connectionOf(row), sealedKey: row["sealed_key"] }));
}

export async function readConnectionRow(
  query: Query,
  organizationId: OrganizationId,
  id: ModelConnectionId,
): Promise<ModelConnection | undefined> {
  const [row] = await query(`select ${COLUMNS} from model_connections where organization_id = $1 and id = $2`, [
    organizationId,
    id,
  ]);
  return row && connectionOf(row);
}

/** Locked until the transaction ends. */
export async function lockConnection(
  query: Query,
  organizationId: OrganizationId,
  id: ModelConnectionId,
): Promise<ModelConnection | undefined> {
  const [row] = await query(
    `select ${COLUMNS} from model_connections where organization_id = $1 and id = $2 for no key update`,
    [organizationId, id],
  );
  return row && connectionOf(row);
}

/** Makes the project's default, if it is another than this one, a default no longer. */
export const clearDefault = (query: Query, { organizationId, projectId, id }: ModelConnection): Promise<unknown> =>
  query(
    `update model_connections set is_default = false
      where organization_id = $1 and project_id = $2 and id <> $3 and is_default`,
    [organizationId, projectId, id],
  );

export async function countConnections(query: Query, { organizationId, projectId }: ModelConnection): Promise<number> {
  const [row] = await query(
    "select count(*)::int as count from model_connections where organization_id = $1 and project_id = $2",
    [organizationId, projectId],
  );
  return row!.count;
}

/** `sealedKey`: undefined leaves it as it is. */
type Change = { connection: ModelConnection; sealedKey: string | null | undefined; by: Actor };

const valuesOf = ({ connection, sealedKey, by }: Change): unknown[] => {
  const { prices, limits } = connection;
  return [
    connection.organizationId,
    connection.id,
    connection.name,
    connection.provider,
    connection.baseUrl,
    connection.model,
    sealedKey ?? null,
    connection.isDefault,
    prices?.inputPerMillion ?? null,
    prices?.outputPerMillion ?? null,
    prices?.cachedInputPerMillion ?? null,
    prices?.currency ?? null,
    limits?.concurrency ?? null,
    limits?.tokensPerDay ?? null,
    limits?.costPerDay ?? null,
    by.kind,
    by.id,
    connection.updatedAt,
    connection.apiKeyHeader,
  ];
};

/** Undefined: the project has one of this name. */
export async function insertConnection(query: Query, change: Change): Promise<ModelConnection | undefined> {
  const [row] = await query(
    `insert into model_connections (organization_id, id, name, provider, base_url, model, sealed_key, is_default,
        input_price, output_price, cached_input_price, currency, concurrency, tokens_per_day, cost_per_day,
        updated_by_kind, updated_by_id, updated_at, api_key_header, created_by_kind, created_by_id, created_at, project_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $16, $17, $18, $20)
     on conflict (organization_id, project_id, name) do nothing
     returning ${COLUMNS}`,
    [...valuesOf(change), change.connection.projectId],
  );
  return row && connectionOf(row);
}

export async function updateConnection(query: Query, change: Change): Promise<ModelConnection> {
  const [row] = await query(
    `update model_connections set name = $3, provider = $4, base_url = $5, model = $6,
        sealed_key = case when $20 then $7 else sealed_key end, is_default = $8,
        input_price = $9, output_price = $10, cached_input_price = $11, currency = $12,
        concurrency = $13, tokens_per_day = $14, cost_per_day = $15,
        updated_by_kind = $16, updated_by_id = $17, updated_at = $18, api_key_header = $19
      where organization_id = $1 and id = $2
     returning ${COLUMNS}`,
    [...valuesOf(change), change.sealedKey !== undefined],
  );
  return connectionOf(row!);
}

/** Whether the project has another one of this name. */
export async function isNameTaken(
  query: Query,
  { organizationId, projectId, id, name }: ModelConnection,
): Promise<boolean> {
  const [row] = await query(
    "select 1 from model_connections where organization_id = $1 and project_id = $2 and name = $3 and id <> $4",
    [organizationId, projectId, name, id],
  );
  return row !== undefined;
}

export async function deleteConnectionRow(
  query: Query,
  organizationId: OrganizationId,
  id: ModelConnectionId,
): Promise<ModelConnection | undefined> {
  const [row] = await query(
    `delete from model_connections where organization_id = $1 and id = $2 returning ${COLUMNS}`,
    [organizationId, id],
  );
  return row && connectionOf(row);
}

type SealedKeyRow = Owner & { id: ModelConnectionId; sealed: string; connection: string };

const sealedKeyOf = (row: Row): SealedKeyRow => ({
  ...ownerOf({ organizationId: row["organization_id"], projectId: row["project_id"], id: row["id"] }),
  id: row["id"],
  connection: row["name"],
  sealed: row["sealed_key"],
});

const SEALED = "organization_id, id, project_id, name, sealed_key";

/** All organizations, in the order of their keys, locked until the transaction ends. */
async function lockSealedKeys(
  query: Query,
  after: Pick<SealedKeyRow, "organizationId" | "id"> | undefined,
  first: number,
): Promise<SealedKeyRow[]> {
  const rows = await query(
    `select ${SEALED} from model_connections
      where sealed_key is not null and ($1::uuid is null or (organization_id, id) > ($1, $2::uuid))
      order by organization_id, id limit $3 for update`,
    [after?.organizationId ?? null, after?.id ?? null, first],
  );
  return rows.map(sealedKeyOf);
}

async function updateSealedKeys(query: Query, rows: readonly SealedKeyRow[]): Promise<void> {
  await query(
    `update model_connections c set sealed_key = n.sealed
       from unnest($1::uuid[], $2::uuid[], $3::text[]) as n (organization_id, id, sealed)
      where c.organization_id = n.organization_id and c.id = n.id`,
    [rows.map(({ organizationId }) => organizationId), rows.map(({ id }) => id), rows.map(({ sealed }) => sealed)],
  );
}

/** For a rotation of the key that they are sealed with. */
export const sealedModelKeys = (sealer: Sealer): Sealed<SealedKeyRow> => ({
  sealer,
  lock: lockSealedKeys,
  update: updateSealedKeys,
  unopened: ({ connection }) =>
    `the key of the model connection ${connection} does not open with this installation's key: set it again or delete the connection`,
});
