/** From a key's hash to the key. */
import type { ApiKeyId, OrganizationId } from "../../lib/ids.ts";
import type { Database } from "../../storage/database.ts";
import { createLookUps } from "./look-ups.ts";

export type KeyPlace = { organizationId: OrganizationId; keyId: ApiKeyId };

/** `address`: of the client. Throws UNAVAILABLE when too many wait, of all or of its address. */
export const createKeyLookUps = (
  database: Database,
): ((hash: Buffer, address: string) => Promise<KeyPlace | undefined>) =>
  createLookUps("API keys", (hashes) => readPlaces(database, hashes));

async function readPlaces(database: Database, hashes: Buffer[]): Promise<Map<string, KeyPlace>> {
  const rows = await database.query(
    "select organization_id, id, secret_hash from api_keys where secret_hash = any($1::bytea[])",
    [hashes],
  );
  return new Map(
    rows.map((row) => [row.secret_hash.toString("latin1"), { organizationId: row.organization_id, keyId: row.id }]),
  );
}
