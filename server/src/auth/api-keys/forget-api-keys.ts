import type { Clock } from "../../lib/clock.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Log } from "../../lib/log/log.ts";
import { Loop, type Round } from "../../lib/loops/loop.ts";
import type { Database } from "../../storage/database.ts";

const FORGET_EVERY_MS = 3_600_000;
/** In one statement. */
const FORGOTTEN_AT_ONCE = 1_000;
const DAY_MS = 86_400_000;

/**
 * Every hour deletes the keys of all organizations that were revoked or expired long enough ago. Their names stay, for what they
 * made.
 */
export const forgetApiKeys = ({ database, clock, log }: { database: Database; clock: Clock; log: Log }): Loop =>
  new Loop({
    clock,
    log,
    name: "old-api-keys",
    everyMs: FORGET_EVERY_MS,
    look: (round) => forget(database, clock.now() - LIMITS.apiKeyDaysAfterEnd * DAY_MS, round),
    failed: "old API keys were not deleted",
  }).start(clock.now() + FORGET_EVERY_MS);

async function forget(database: Database, endedBefore: number, round: Round): Promise<void> {
  let forgotten: number;
  do {
    const rows = await database.query(
      `with gone as (
         delete from api_keys where (organization_id, id) in (
           select organization_id, id from api_keys
            where (revoked_at is not null or expires_at is not null) and least(revoked_at, expires_at) < $1
            limit $2 for update skip locked)
         returning organization_id, id, name)
       insert into former_api_keys (organization_id, id, name) select organization_id, id, name from gone returning id`,
      [new Date(endedBefore), FORGOTTEN_AT_ONCE],
    );
    forgotten = rows.length;
  } while (forgotten === FORGOTTEN_AT_ONCE && round.goesOn());
}
