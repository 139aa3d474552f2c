/** The SQL of secrets. */
import type { Actor } from "../lib/actor.ts";
import type { OrganizationId, ProjectId, SecretId } from "../lib/ids.ts";
import { pageOf, type Page, type PageRequest } from "../lib/page.ts";
import type { Database, Query, Row } from "../storage/database.ts";
import type { Secret } from "./secret.ts";

const COLUMNS = `id, organization_id, project_id, name, created_by_kind, created_by_id, created_at,
  updated_by_kind, updated_by_id, updated_at`;

const secretOf = (row: Row): Secret => ({
  id: row.id,
  organizationId: row.organization_id,
  projectId: row.project_id,
  name: row.name,
  createdBy: { kind: row.created_by_kind, id: row.created_by_id },
  createdAt: row.created_at,
  updatedBy: { kind: row.updated_by_kind, id: row.updated_by_id },
  updatedAt: row.updated_at,
});

type NewValue = {
  id: SecretId;
  organizationId: OrganizationId;
  projectId: ProjectId;
  name: string;
  sealed: string;
  by: Actor;
  now: number;
};

/** Makes the secret, or gives the one of that name the value. */
export async function upsertSecret(query: Query, secret: NewValue): Promise<Secret> {
  const [row] = await query(
    `insert into secrets (organization_id, id, project_id, name, sealed,
        created_by_kind, created_by_id, created_at, updated_by_kind, updated_by_id, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $6, $7, $8)
     on conflict (organization_id, project_id, name) do update
       set sealed = excluded.sealed, updated_by_kind = excluded.updated_by_kind,
           updated_by_id = excluded.updated_by_id, updated_at = excluded.updated_at
     returning ${COLUMNS}`,
    [
      secret.organizationId,
      secret.id,
      secret.projectId,
      secret.name,
      secret.sealed,
      secret.by.kind,
      secret.by.id,
      new Date(secret.now),
    ],
  );
  return secretOf(row!);
}

/** Until the transaction ends, nobody else sets a secret of the project. Undefined: there is no such project. */
export async function lockProject(
  query: Query,
  organizationId: OrganizationId,
  projectId: ProjectId,
): Promise<{ id: ProjectId } | undefined> {
  const [row] = await query("select id from projects where organization_id = $1 and id = $2 for no key update", [
    organizationId,
    projectId,
  ]);
  return row as { id: ProjectId } | undefined;
}

/** How many secrets the project has besides the one of this name. */
export async function countOthers(
  query: Query,
  organizationId: OrganizationId,
  projectId: ProjectId,
  name: string,
): Promise<number> {
  const [row] = await query(
    `select count(*)::int as others from secrets where organization_id = $1 and project_id = $2 and name <> $3`,
    [organizationId, projectId, name],
  );
  return row!.others;
}

export async function deleteSecretRow(
  query: Query,
  organizationId: OrganizationId,
  id: SecretId,
): Promise<Secret | undefined> {
  const [row] = await query(`delete from secrets where organization_id = $1 and id = $2 returning ${COLUMNS}`, [
    organizationId,
    id,
  ]);
  return row && secretOf(row);
}

/** Newest first; of all projects, or of one. */
export async function pageOfSecrets(
  database: Database,
  organizationId: OrganizationId,
  projectId: ProjectId | undefined,
  { first, after }: PageRequest,
): Promise<Page<Secret>> {
  const rows = await database.query(
    `select ${COLUMNS} from secrets
      where organization_id = $1 and ($2::uuid is null or project_id = $2) and ($3::uuid is null or id < $3)
      order by id desc limit $4`,
    [organizationId, projectId ?? null, after ?? null, first + 1],
    organizationId,
  );
  return pageOf(rows.map(secretOf), first);
}

export async function readSecretRow(
  database: Database,
  organizationId: OrganizationId,
  id: SecretId,
): Promise<Secret | undefined> {
  const [row] = await database.query(
    `select ${COLUMNS} from secrets where organization_id = $1 and id = $2`,
    [organizationId, id],
    organizationId,
  );
  return row && secretOf(row);
}

/** Those of the names that the project has. */
export async function knownNames(
  database: Pick<Database, "query">,
  organizationId: OrganizationId,
  projectId: ProjectId,
  names: readonly string[],
): Promise<Set<string>> {
  const rows = await database.query(
    "select name from secrets where organization_id = $1 and project_id = $2 and name = any($3::text[])",
    [organizationId, projectId, names],
    organizationId,
  );
  return new Set(rows.map(({ name }) => name as string));
}

export async function readSealed(
  database: Database,
  organizationId: OrganizationId,
  projectId: ProjectId,
  names: readonly string[],
): Promise<{ name: string; sealed: string }[]> {
  const rows = await database.query(
    "select name, sealed from secrets where organization_id = $1 and project_id = $2 and name = any($3::text[])",
    [organizationId, projectId, names],
    organizationId,
  );
  return rows as { name: string; sealed: string }[];
}

const KEY_SETTING = "secrets_key";

/** The id of the key that values are sealed with now, unchanged until the transaction ends. Undefined: none was sealed yet. */
export async function readKeyId(query: Query): Promise<string | undefined> {
  const [row] = await query(`select value from settings where name = '${KEY_SETTING}' for share`);
  return (row?.["value"] as { id: string } | undefined)?.id;
}

/** If two run at once, the first one's stays. */
export async function insertKeyId(query: Query, id: string): Promise<void> {
  await query(`insert into settings (name, value) values ('${KEY_SETTING}', $1) on conflict (name) do nothing`, [
    JSON.stringify({ id }),
  ]);
}

export async function updateKeyId(query: Query, id: string): Promise<void> {
  await query(`update settings set value = $1 where name = '${KEY_SETTING}'`, [JSON.stringify({ id })]);
}

export type SealedRow = {
  organizationId: OrganizationId;
  id: SecretId;
  projectId: ProjectId;
  name: string;
  sealed: string;
};

/** All organizations, in the order of their keys, locked until the transaction ends. */
export async function lockSealedRows(
  query: Query,
  after: Pick<SealedRow, "organizationId" | "id"> | undefined,
  first: number,
): Promise<SealedRow[]> {
  const rows = await query(
    `select organization_id, id, project_id, name, sealed from secrets
      where $1::uuid is null or (organization_id, id) > ($1, $2::uuid)
      order by organization_id, id limit $3 for update`,
    [after?.organizationId ?? null, after?.id ?? null, first],
  );
  return rows.map((row) => ({
    organizationId: row["organization_id"],
    id: row["id"],
    projectId: row["project_id"],
    name: row["name"],
    sealed: row["sealed"],
  }));
}

export async function updateSealed(query: Query, rows: readonly SealedRow[]): Promise<void> {
  await query(
    `update secrets s set sealed = n.sealed
       from unnest($1::uuid[], $2::uuid[], $3::text[]) as n (organization_id, id, sealed)
      where s.organization_id = n.organization_id and s.id = n.id`,
    [rows.map(({ organizationId }) => organizationId), rows.map(({ id }) => id), rows.map(({ sealed }) => sealed)],
  );
}
