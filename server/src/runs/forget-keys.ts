import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { Loop } from "../lib/loops/loop.ts";
import type { Runs } from "./runs.ts";

type Forgetting = Pick<Runs, "database" | "clock">;

const FORGET_EVERY_MS = 3_600_000;

/** Deletes expired keys of all organizations every hour. A start does not wait for this. */
export const forgetKeys = ({ database, clock, log }: Forgetting & Pick<Runs, "log">): Loop =>
  new Loop({
    clock,
    log,
    name: "old-idempotency-keys",
    everyMs: FORGET_EVERY_MS,
    look: async () => {
      const old = "delete from idempotency_keys where organization_id is not null and created_at < $1";
      await database.query(old, [oldest(clock.now())]);
    },
    failed: "old idempotency keys were not deleted",
  }).start(clock.now() + FORGET_EVERY_MS);

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
