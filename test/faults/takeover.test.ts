/** Two processes on one database, and the one that executes dies or stops: the other goes on, the first does no harm. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectInTime } from "../in-time.ts";
import { decodeId } from "../../server/src/lib/ids.ts";
import { publish } from "../agents.ts";
import { eventually } from "../client.ts";
import { agentOf, ENDED, stepsOf, until } from "../runs.ts";
import { scaled } from "../scale.ts";
import { violations } from "./audit.ts";
import { callTask, makeExecutor, rolesOf, START, startAt, startPair, untilExecuting, type Pair } from "./pair.ts";
import { insisted } from "./workload.ts";

let pair: Pair;
beforeAll(async () => {
  pair = await startPair();
});
afterAll(() => pair[Symbol.asyncDispose]());

test("a wire that is cut without a word: the other takes over, and what the first still writes changes nothing", async () => {
  const { sink, client, proxy } = pair;
  // Who executes must be behind the proxy.
  await makeExecutor(pair, "a");
  const { executor } = await rolesOf(pair);
  const ROUNDS = scaled({ whole: 60, part: 30 });
  const body = `do: [{loop: {for: {in: '\${ [range(${ROUNDS})] }'}, do: [{post: {call: http, with: {method: post, endpoint: '${sink.url}/delay/100', query: {run: '\${ $workflow.id }', step: '\${ "\\($index)" }'}}}}]}}]`;
  const agentId = await agentOf(executor, body);
  const ids: string[] = [];
  for (let count = 0; count < 10; count++) ids.push(await startAt(executor, agentId));
  await eventually(() => sink.count(ids.at(-1)!, "2"));
  // Its other connections live: it goes on in good faith until the database refuses it, or its heartbeat fails. The
  // first heartbeat is sent a second after it was elected, which all of the above may come before.
  await eventually(() => proxy.freeze("update executor set heartbeat_at") === 1);
  expectInTime(await untilExecuting(client, "b"), 8_000);
  for (const id of ids) expect((await until(executor, id, ...ENDED)).status).toBe("completed");
  // Nobody wrote a run again that the other had claimed.
  const { rows } = await client.query(
    `select a.run_id, a.seq from audit a join (select run_id, min(seq) as seq from audit where program = 'b' group by 1) b using (run_id)
      where a.program = 'a' and a.seq > b.seq`,
  );
  expect(rows).toEqual([]);
  const repeated = [...sink.requests.values()].filter(({ requests }) => requests > 1);
  expect(repeated.length).toBeLessThanOrEqual(ids.length);
  expect(repeated.filter(({ requests, keys }) => requests > 2 || keys.length > 1)).toEqual([]);
  // It has noticed: what is started at it is executed by the other, once.
  await eventually(() => /heartbeat|connection failed/.test(executor.server.log()));
  const id = await startAt(executor, agentId);
  expect((await until(executor, id, ...ENDED)).status).toBe("completed");
  const { rows: writers } = await client.query(
    "select distinct program from audit where run_id = $1 and step is not null",
    [decodeId("run", id)],
  );
  expect(writers).toEqual([{ program: "b" }]);
  expect(await violations(client)).toEqual([]);
});

test("kill -9: the other executes within 5 s; the first stands by when it is back", async () => {
  const { sink } = pair;
  const { executor, standby } = await rolesOf(pair);
  const agentId = await agentOf(executor, `do: [${callTask(sink, "/hang/1")}, {after: {set: {n: 1}}}]`);
  const id = await startAt(executor, agentId);
  await eventually(() => sink.count(id, "post")?.requests === 1);
  const since = performance.now();
  await executor.server.kill();
  await eventually(() => sink.count(id, "post")!.requests === 2);
  expectInTime(performance.now() - since, 5_000);
  expect(sink.count(id, "post")!.keys).toHaveLength(1);
  await executor.server.restart();
  const run = await until(executor, id, ...ENDED);
  expect([run.status, ...stepsOf(run)]).toEqual(["completed", "post completed", "after completed"]);
  expect((await rolesOf(pair)).executor.name).toBe(standby.name);
  // It serves.
  const three = await publish(executor, "three");
  await insisted(executor, START, { input: { agentId: three, input: { n: 1 } } });
});

const STOPPED_MS = scaled({ whole: 30_000, part: 0 });

test("SIGSTOP until the other has taken over and gone on: the first writes and calls nothing after SIGCONT", async () => {
  const { sink, client } = pair;
  const { executor, standby } = await rolesOf(pair);
  const ROUNDS = scaled({ whole: 40, part: 12 });
  const body = `
do:
  - loop:
      for: {in: '\${ [range(${ROUNDS})] }'}
      do:
        - pause: {wait: {milliseconds: 700}}
        - post: {call: http, with: {method: post, endpoint: '${sink.url}/delay/150', query: {run: '\${ $workflow.id }', step: '\${ "\\($index)" }'}}}`;
  const agentId = await agentOf(executor, body);
  const ids: string[] = [];
  for (let count = 0; count < 20; count++) ids.push(await startAt(executor, agentId));
  await eventually(() => sink.count(ids.at(-1)!, "2"));
  const { pid } = executor.server;
  const stopped = sleep(STOPPED_MS);
  process.kill(pid, "SIGSTOP");
  // Four looks a second apart, and the one that takes the lock.
  expectInTime(await untilExecuting(client, standby.name), 8_000);
  await eventually(() => sink.count(ids.at(-1)!, "5"));
  const lastWrite = async (): Promise<number> =>
    (await client.query("select coalesce(max(seq), 0)::int as seq from audit where program = $1", [executor.name]))
      .rows[0].seq;
  const before = await lastWrite();
  await stopped;
  process.kill(pid, "SIGCONT");
  await sleep(3_000);
  expect(await lastWrite()).toBe(before);
  expect((await rolesOf(pair)).executor.name).toBe(standby.name);
  for (const id of ids) expect((await until(standby, id, ...ENDED)).status).toBe("completed");
  expect(await lastWrite()).toBe(before);
  // Steps under way when it stopped were repeated by the other, and nothing else was called twice.
  for (const id of ids) {
    const counts = Array.from({ length: ROUNDS }, (_, index) => sink.count(id, String(index))!);
    expect(counts.filter(({ requests }) => requests > 2)).toEqual([]);
    expect(counts.filter(({ requests }) => requests === 2).length).toBeLessThanOrEqual(1);
    expect(counts.filter(({ keys }) => keys.length !== 1)).toEqual([]);
  }
  // It serves on, and stands by.
  const id = await startAt(executor, await publish(standby, "three"), { input: { n: 1 } });
  expect((await until(standby, id, ...ENDED)).output).toEqual({ n: 4 });
  expect(await violations(client)).toEqual([]);
});
