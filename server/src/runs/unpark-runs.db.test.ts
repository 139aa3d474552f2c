/** Finding out who may begin next does not look at everything that waits. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startDatabases, type Databases } from "../auth/handle/auth.testsuite.ts";
import { newId, type RunId } from "../lib/ids.ts";
import type { Database, Row } from "../storage/database.ts";
import { unparkRuns } from "./unpark-runs.ts";
import { idle, openRuns, type TestRuns } from "./runs.testsuite.ts";

let databases: Databases;
let database: Database;
let opened: TestRuns;
beforeAll(async () => {
  databases = await startDatabases();
  database = await databases.open();
  opened = await openRuns(database, { engine: idle });
  return async () => {
    await opened[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  };
});
afterAll(() => databases[Symbol.asyncDispose]());

const WAITING = 5_000;

test.each([
  ["of 5,000 that wait the oldest", 2],
  ["beside 5,000 that wait for the one that their trigger started before the only other one", WAITING + 1],
])("%s is unparked in a room of one, and no more than a hundred rows are read for it", async (_, first) => {
  const { runs, caller } = opened;
  const { organizationId } = caller;
  const agentId = await opened.agentOf("do: [{pause: {wait: PT1H}}]");
  await database.query("update agents set concurrency_limit = 2 where id = $1", [agentId]);
  const ids = Array.from({ length: WAITING + 1 }, () => newId<"run">()) as RunId[];
  await database.query(
    `insert into runs (id, organization_id, project_id, agent_id, version, status, started_by_kind, started_by_id, input,
        created_at, revision, progress, epoch, wake_seq, limited, queued)
     select run.id, $2, a.project_id, a.id, '1.0.0', case when place = 1 then 'running' else 'pending' end, 'user', $4, '{}',
        $5, 1, 0, 0, 0, true, place > 1 and place < $6
       from unnest($1::uuid[]) with ordinality as run (id, place), agents a where a.id = $3`,
    [ids, organizationId, agentId, caller.user.id, new Date(runs.clock.now()), first],
  );
  const before = await readRows();
  await unparkRuns(runs, organizationId, agentId);
  const spent = (await readRows()) - before;
  const unparked = await database.query("select id from runs where agent_id = $1 and wake_at is not null", [agentId]);
  expect(unparked.map(({ id }: Row) => id)).toEqual([ids[first - 1]]);
  expect(spent).toBeLessThanOrEqual(100);
});

/** Entries read from the indexes and rows from the tables of runs, once all sessions have reported. */
async function readRows(): Promise<number> {
  // A session reports at the end of a transaction, but at most once a second.
  await Promise.all(
    Array.from({ length: 4 }, () => database.query("select pg_stat_force_next_flush(), pg_sleep(0.05)")),
  );
  const [row] = await database.query(
    `select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::float8
        + (select sum(idx_tup_read)::float8 from pg_stat_user_indexes where relname like 'runs%') as rows
       from pg_stat_user_tables where relname like 'runs%'`,
  );
  return row!["rows"] as number;
}
