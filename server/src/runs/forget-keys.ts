import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { Loop, type Round } from "../lib/loops/loop.ts";
import type { Database } from "../storage/database.ts";
import type { Runs } from "./handle/runs.ts";

type Forgetting = Pick<Runs, "database" | "clock">;

const FORGET_EVERY_MS = 3_600_000;
/** In one statement, so that it is short. */
const AT_ONCE = 5_000;

/** Deletes expired keys of all organizations every hour. A start does not wait for this. */
export const forgetKeys = ({ database, clock, log }: Forgetting & Pick<Runs, "log">): Loop =>
  new Loop({
    clock,
    log,
    name: "old-idempotency-keys",
    everyMs: FORGET_EVERY_MS,
    look: (round) => forget(database, oldest(clock.now()), round),
    failed: "old idempotency keys were not deleted",
  }).start(clock.now() + FORGET_EVERY_MS);

async function forget(database: Database, before: Date, round: Round): Promise<void> {
  let forgotten: number;
  do {
    // The age is asked twice: a key that is used again meanwhile stays.
    const rows = await database.query(
      `delete from idempotency_keys where organization_id is not null and created_at < $1
          and ctid = any(array(select ctid from idempotency_keys
            where organization_id is not null and created_at < $1 limit $2)) returning 1`,
      [before, AT_ONCE],
    );
    forgotten = rows.length;
  } while (forgotten === AT_ONCE && round.goesOn());
}

/** Frees one key when its day is over. */
export async function forgetKey(
  { database, clock }: Forgetting,
  organizationId: OrganizationId,
  agentId: string,
  key: string,
): Promise<void> {
  await database.query(
    "delete from idempotency_keys where organization_id = $1 and agent_id = $2 and key = $3 and created_at < $4",
    [organizationId, agentId, key, oldest(clock.now())],
    organizationId,
  );
}

const oldest = (now: number): Date => new Date(now - LIMITS.idempotencyHours * 3_600_000);
