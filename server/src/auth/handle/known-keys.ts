/** Finds API keys by their texts. */
import { LRUCache } from "lru-cache";
import type { ApiKeyId, OrganizationId } from "../../lib/ids.ts";
import type { Database } from "../../storage/database.ts";
import { hashApiKey, hashBytes } from "../api-key.ts";
import { createLookUps, type LookUp } from "./look-ups.ts";

export const KEYS_REMEMBERED = 5_000;

export type KeyPlace = { organizationId: OrganizationId; keyId: ApiKeyId };

/** Those that were found last. A row's hash never changes, so none of them becomes stale. The texts are not kept. */
export class KnownKeys {
  readonly #byHash = new LRUCache<string, KeyPlace>({ max: KEYS_REMEMBERED });
  readonly #lookUp: LookUp<KeyPlace>;

  constructor(database: Database) {
    this.#lookUp = createLookUps("API keys", (hashes) => readPlaces(database, hashes));
  }

  /** The key, if it was found before. */
  recall(secret: string): KeyPlace | undefined {
    return this.#byHash.get(hashApiKey(secret));
  }

  /** `address`: of the client. Throws UNAVAILABLE when too many wait, of all or of its address. */
  async find(secret: string, address: string): Promise<KeyPlace | undefined> {
    const hash = hashApiKey(secret);
    const known = this.#byHash.get(hash);
    if (known) return known;
    const found = await this.#lookUp(hashBytes(hash), address);
    if (found) this.#byHash.set(hash, found);
    return found;
  }
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
