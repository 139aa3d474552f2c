import { afterAll, beforeAll, expect, test } from "vitest";
import { testClock } from "../../../test/clock.ts";
import { startDatabases } from "../auth/handle/auth.testsuite.ts";
import { newId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { createLog } from "../lib/log/log.ts";
import type { Database } from "../storage/database.ts";
import { forgetKeys } from "./forget-keys.ts";

const HOUR = 3_600_000;
const stack = new AsyncDisposableStack();
let database: Database;
beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
});
afterAll(() => stack.disposeAsync());

test("keys go after 24 hours, however many there are", async () => {
  const clock = testClock();
  const insert = (count: number, at: number): Promise<unknown> =>
    database.query(
      `insert into idempotency_keys (organization_id, agent_id, key, body_hash, run_id, created_at)
       select $1, $1, 'key ' || gen_random_uuid(), '\\x00', $1, $2 from generate_series(1, $3::int)`,
      [newId<"organization">(), new Date(at), count],
    );
  const left = async (): Promise<number> =>
    (await database.query("select count(*) as count from idempotency_keys"))[0]!["count"];
  const day = LIMITS.idempotencyHours * HOUR;
  await insert(10_001, clock.now() + HOUR - day - 1);
  await insert(1, clock.now() + HOUR - day);
  await using _loop = forgetKeys({ database, clock, log: createLog("silent") });
  clock.pass(HOUR);
  await expect.poll(left).toBe(1);
  clock.pass(HOUR);
  await expect.poll(left).toBe(0);
});
