/**
 * From a key's hash to the key. Made-up keys with a right checksum cost nothing to make: one statement at a time looks up
 * as many as one may, of those that wait by turns of the addresses that they come from. So a flood of them takes one connection,
 * and others wait for a statement, not for the flood.
 */
import { Refusal } from "../lib/errors.ts";
import type { ApiKeyId, OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { Lane } from "../lib/turns.ts";
import type { Database } from "../storage/database.ts";
import { network } from "./login-throttle.ts";

export type KeyPlace = { organizationId: OrganizationId; keyId: ApiKeyId };

type Waiting = { hash: Buffer; resolve: (place: KeyPlace | undefined) => void; reject: (error: unknown) => void };

/** `address`: of the client. Throws UNAVAILABLE when too many wait, of all or of its address. */
export function createKeyLookUps(database: Database): (hash: Buffer, address: string) => Promise<KeyPlace | undefined> {
  const waiting = new Lane<Waiting>(LIMITS.keysWaiting, LIMITS.keysWaitingPerAddress);
  let isReading = false;

  const next = (): Waiting[] => {
    const some: Waiting[] = [];
    while (some.length < LIMITS.keysLookedUpAtOnce) {
      const one = waiting.take();
      if (!one) break;
      some.push(one);
    }
    return some;
  };

  const readAll = async (): Promise<void> => {
    isReading = true;
    for (let some = next(); some.length > 0; some = next()) {
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

  return (hash, address) =>
    new Promise((resolve, reject) => {
      waiting.add(network(address), { hash, resolve, reject })?.reject(tooMany());
      if (!isReading) void readAll();
    });
}

const tooMany = (): Refusal =>
  new Refusal(
    "UNAVAILABLE",
    `too many API keys wait to be looked up (${LIMITS.keysWaiting} may, ${LIMITS.keysWaitingPerAddress} of one address): try again in a moment`,
    { retryAfter: 1 },
  );

async function readPlaces(database: Database, hashes: Buffer[]): Promise<Map<string, KeyPlace>> {
  const rows = await database.query(
    "select organization_id, id, secret_hash from api_keys where secret_hash = any($1::bytea[])",
    [hashes],
  );
  return new Map(
    rows.map((row) => [row.secret_hash.toString("latin1"), { organizationId: row.organization_id, keyId: row.id }]),
  );
}
