/**
 * Refresh tokens by which an authority has replaced one that an author set (RFC 6749, 6), sealed as secrets are. Without
 * them the grant may be lost: an authority can take the author's own only once. `key`: a hash of it and of where it is good.
 */
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Query } from "../storage/database.ts";
import { presentKeyId } from "./present-key.ts";
import type { Sealed } from "./rotate-key.ts";
import type { Owner, Sealer } from "./seal.ts";
import type { Secrets } from "./secrets.ts";

type RefreshTokenRow = Owner & { key: string; sealed: string };

/** A secret can't have such a name. */
const ownerOf = (organizationId: OrganizationId, key: string): Owner => ({
  organizationId,
  name: `refresh token ${key}`,
});

/** Undefined: it was not replaced. */
export async function readRefreshToken(
  { database, log, sealer }: Secrets,
  organizationId: OrganizationId,
  key: string,
): Promise<string | undefined> {
  const [row] = await database.query(
    "select sealed from refresh_tokens where organization_id = $1 and key = $2",
    [organizationId, key],
    organizationId,
  );
  const token = row && (await sealer.open(row["sealed"], ownerOf(organizationId, key)));
  if (row && token === undefined) log.error({ organizationId }, "a refresh token does not open with this server's key");
  return token;
}

/** Beyond `LIMITS.refreshTokens`, those that were replaced longest ago are dropped; never this one, also if the clock was set back. */
export async function keepRefreshToken(
  { database, clock, sealer }: Secrets,
  organizationId: OrganizationId,
  key: string,
  token: string,
): Promise<void> {
  await database.transaction(async (query) => {
    const sealed = await sealer.seal(token, ownerOf(organizationId, key), await presentKeyId(query));
    await query(
      `insert into refresh_tokens (organization_id, key, sealed, replaced_at) values ($1, $2, $3, $4)
       on conflict (organization_id, key) do update set sealed = excluded.sealed, replaced_at = excluded.replaced_at`,
      [organizationId, key, sealed, new Date(clock.now())],
    );
    await query(
      `delete from refresh_tokens where organization_id = $1 and key in (
         select key from refresh_tokens where organization_id = $1 order by key = $3 desc, replaced_at desc, key offset $2)`,
      [organizationId, LIMITS.refreshTokens, key],
    );
  }, organizationId);
}

export const sealedRefreshTokens = (sealer: Sealer): Sealed<RefreshTokenRow> => ({
  sealer,
  lock: lockRows,
  update: updateRows,
  unopened: () =>
    "a replaced refresh token does not open with this installation's key: delete its row of the table refresh_tokens",
});

async function lockRows(query: Query, after: RefreshTokenRow | undefined, first: number): Promise<RefreshTokenRow[]> {
  const rows = await query(
    `select organization_id, key, sealed from refresh_tokens
      where $1::uuid is null or (organization_id, key) > ($1, $2::text)
      order by organization_id, key limit $3 for update`,
    [after?.organizationId ?? null, after?.key ?? null, first],
  );
  return rows.map(({ organization_id: organizationId, key, sealed }) => ({
    ...ownerOf(organizationId, key),
    key,
    sealed,
  }));
}

async function updateRows(query: Query, rows: readonly RefreshTokenRow[]): Promise<void> {
  await query(
    `update refresh_tokens t set sealed = n.sealed
       from unnest($1::uuid[], $2::text[], $3::text[]) as n (organization_id, key, sealed)
      where t.organization_id = n.organization_id and t.key = n.key`,
    [rows.map(({ organizationId }) => organizationId), rows.map(({ key }) => key), rows.map(({ sealed }) => sealed)],
  );
}
