/** A run that ends the process each time it is advanced is given up after five times; the others never notice. */
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { publish, start } from "../agents.ts";
import { startTestServer, type TestServer } from "../client.ts";
import { ENDED, agentOf, decide, ran, readRun, until } from "../runs.ts";
import { scaled } from "../scale.ts";
import { startSink } from "../sink.ts";
import { connectTo, installAudit, violations } from "./audit.ts";

/** Ends its caller before it could hear an answer: for a run, a task that ends its process. */
async function startPoison(victim: () => number): Promise<{ url: string; deaths(): number } & AsyncDisposable> {
  let deaths = 0;
  const server = http.createServer(() => {
    process.kill(victim(), "SIGKILL");
    deaths++;
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    deaths: () => deaths,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Starts the server again whenever it has died, as a supervisor does, until `isOver`. */
async function supervise(server: TestServer, deaths: () => number, isOver: () => boolean): Promise<void> {
  for (let seen = 0; !isOver(); await sleep(10)) {
    if (deaths() === seen) continue;
    seen = deaths();
    // Until it is gone it has the port.
    await server.ended();
    // It may die again before it is ready.
    await server.restart().catch(() => {});
  }
}

/** More than were ever blamed together, in a call that is under way for longer than any process lives. */
const QUICK = scaled({ whole: 20, part: 4 });
const SLOW = scaled({ whole: 20, part: 4 });

test("five times blamed, it fails with the type crashed; the runs beside it, under way at each end or not, end as they should", async () => {
  await using sink = await startSink();
  await using server = await startTestServer({ env: { OUTBOUND_ALLOW: "127.0.0.1/32" } });
  const client = await connectTo(server);
  await installAudit(client);
  await using poison = await startPoison(() => server.pid);
  const call = (url: string): string =>
    `{call: http, with: {method: post, endpoint: '${url}', query: {run: '\${ $workflow.id }', step: post}}}`;
  const bad = await agentOf(server, `do: [{fine: {set: {n: 1}}}, {kill: ${call(poison.url)}}, {after: {set: {n: 2}}}]`);
  const calling = async (behaviour: string): Promise<string> =>
    agentOf(server, `do: [{post: ${call(`${sink.url}${behaviour}`)}}, {done: {set: {n: 1}}}]`);
  const [immediate, quick, slow] = [await calling(""), await calling("/delay/300"), await calling("/hold")];
  const began = performance.now();
  expect((await ran(server, immediate)).status).toBe("completed");
  const runMs = performance.now() - began;
  const others: string[] = [];
  for (let count = 0; count < SLOW; count++) others.push(await start(server, slow));
  for (let count = 0; count < QUICK; count++) others.push(await start(server, quick));
  const patient = await start(server, await publish(server, "patient"));
  const asking = await start(server, await publish(server, "approve"));
  await until(server, asking, "paused");

  const ending = new AbortController();
  const supervising = supervise(server, poison.deaths, () => ending.signal.aborted);
  const id = await start(server, bad).catch(() => undefined);
  const { rows } = await client.query("select id, status from runs order by id desc limit 1");
  expect(id === undefined || rows.length === 1).toBe(true);
  const statusOf = async (): Promise<string> =>
    (await client.query("select status from runs where id = $1", [rows[0].id])).rows[0].status;
  for (const end = Date.now() + 300_000; (await statusOf()) !== "failed" && Date.now() < end;) await sleep(50);
  expect(await statusOf()).toBe("failed");
  // Two deaths come before any process is careful; then it may not be alone yet.
  expect(poison.deaths()).toBeGreaterThanOrEqual(7);
  // One more each time the machine is half as fast: the pauses double until they are as long as its call.
  expect(poison.deaths()).toBeLessThanOrEqual(20 + Math.max(0, Math.ceil(Math.log2(runMs / 25))));
  ending.abort();
  await supervising;

  const { runs } = await server.data(`{ runs(filter: {status: [failed]}) { nodes { id } } }`);
  expect(runs.nodes).toHaveLength(1);
  const failed = await readRun(server, runs.nodes[0].id);
  expect(failed.error).toMatchObject({
    type: expect.stringMatching(/\/crashed$/),
    detail: expect.stringMatching(/5 times/),
  });
  expect(failed.steps.map(({ name, status }: { name: string; status: string }) => `${name} ${status}`)).toEqual([
    "fine completed",
    "kill cancelled",
  ]);
  // Held connections were opened by processes that are gone, too.
  const answering = setInterval(() => sink.letGo(), 20);
  for (const other of others) expect((await until(server, other, ...ENDED)).output).toEqual({ n: 1 });
  clearInterval(answering);
  expect((await readRun(server, patient)).status).toBe("running");
  expect((await decide(server, asking, "approve", { answer: { costCentre: "office" } })).errors).toBeUndefined();
  expect((await until(server, asking, ...ENDED)).status).toBe("completed");
  expect(await violations(client)).toEqual([]);
  const deaths = poison.deaths();
  await sleep(1_000);
  expect(poison.deaths()).toBe(deaths);
  await client.end();
}, 400_000);
