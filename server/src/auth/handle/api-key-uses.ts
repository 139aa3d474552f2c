/** When keys were last used, noted at most once a minute for each key. The notes of a second are written together. */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../lib/clock.ts";
import { messageOf } from "../../lib/errors.ts";
import type { ApiKeyId, OrganizationId } from "../../lib/ids.ts";
import type { Log } from "../../lib/log/log.ts";
import { Loop } from "../../lib/loops/loop.ts";
import type { Database } from "../../storage/database.ts";

type KeyUses = { note(organizationId: OrganizationId, keyId: ApiKeyId): void; loop: Loop } & AsyncDisposable;

type Use = { organizationId: OrganizationId; keyId: ApiKeyId; at: number };

const NOTE_EVERY_MS = 60_000;
const WRITE_AFTER_MS = 1_000;
/** The keys whose last note is remembered. One that is forgotten is written again within the minute. */
const REMEMBERED = 10_000;

export function createKeyUses(database: Database, clock: Clock, log: Log): KeyUses {
  const notedAt = new LRUCache<ApiKeyId, number>({ max: REMEMBERED });
  let waiting: Use[] = [];

  const write = async (): Promise<void> => {
    const uses = waiting;
    waiting = [];
    if (uses.length > 0) await writeUses(database, uses);
  };
  // A lost note makes a display a minute late. No request should fail for that.
  const failed = "the last use of API keys was not written";
  const loop = new Loop({ clock, log, name: "key-uses", everyMs: NOTE_EVERY_MS, look: write, failed }).start(Infinity);

  return {
    note: (organizationId, keyId) => {
      const at = clock.now();
      const last = notedAt.get(keyId);
      if (last !== undefined && at - last < NOTE_EVERY_MS) return;
      notedAt.set(keyId, at);
      waiting.push({ organizationId, keyId, at });
      loop.wake(at + WRITE_AFTER_MS);
    },
    loop,
    async [Symbol.asyncDispose]() {
      await loop[Symbol.asyncDispose]();
      await write().catch((error: unknown) => log.warn({ reason: messageOf(error) }, failed));
    },
  };
}

const writeUses = (database: Database, uses: Use[]): Promise<unknown> =>
  database.query(
    `update api_keys k set last_used_at = used.at
       from unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) used (organization_id, id, at)
      where k.organization_id = used.organization_id and k.id = used.id
        and (k.last_used_at is null or k.last_used_at < used.at)`,
    [uses.map((use) => use.organizationId), uses.map((use) => use.keyId), uses.map((use) => new Date(use.at))],
  );
