/**
 * From a key's hash to the key. Made-up keys with a right checksum cost nothing to make: one statement at a time looks up
 * all that wait, so that a flood of them takes one connection and others wait for one statement, not for the flood.
 */
import { Refusal } from "../lib/errors.ts";
import type { ApiKeyId, OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Database } from "../storage/database.ts";

export type KeyPlace = { organizationId: OrganizationId; keyId: ApiKeyId };

type Waiting = { hash: Buffer; resolve: (place: KeyPlace | undefined) => void; reject: (error: unknown) => void };

/** Throws UNAVAILABLE when too many wait. */
export function createKeyLookUps(database: Database): (hash: Buffer) => Promise<KeyPlace | undefined> {
  const waiting: Waiting[] = [];
  let isReading = false;

  const readAll = async (): Promise<void> => {
    isReading = true;
    while (waiting.length > 0) {
      const some = waiting.splice(0, LIMITS.keysLookedUpAtOnce);
      try {
        const found = await readPlaces(
          database,
          some.map(({ hash }) => hash),
        );
        for (const { hash, resolve } of some) resolve(found.get(hash.toString("latin1")));
      } catch (error) {
        for (const { reject } of some) reject(error);
      }
    }
    isReading = false;
  };

  return (hash) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= LIMITS.keysWaiting) {
        return reject(
          new Refusal(
            "UNAVAILABLE",
            `${LIMITS.keysWaiting} API keys wait to be looked up already: try again in a moment`,
            { retryAfter: 1 },
          ),
        );
      }
      waiting.push({ hash, resolve, reject });
      if (!isReading) void readAll();
    });
}

async function readPlaces(database: Database, hashes: Buffer[]): Promise<Map<string, KeyPlace>> {
  const rows = await database.query(
    "select organization_id, id, secret_hash from api_keys where secret_hash = any($1::bytea[])",
    [hashes],
  );
  return new Map(
    rows.map((row) => [row.secret_hash.toString("latin1"), { organizationId: row.organization_id, keyId: row.id }]),
  );
}
