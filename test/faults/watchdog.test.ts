/**
 * A server that really stands still: its watchdog says what ran and ends it, and everything that was accepted goes on. The tests
 * run at the same time, each with a server of its own: nearly all of it is waiting.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createHash } from "node:crypto";
import http from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { decodeId } from "../../server/src/lib/ids.ts";
import { start } from "../agents.ts";
import { eventually, post, startTestServer, type TestServer } from "../client.ts";
import { ENDED, agentOf, until } from "../runs.ts";
import { scaled } from "../scale.ts";
import { connectTo } from "./audit.ts";

const STANDSTILL_SECONDS = 3;
const EXIT_CODE = 70;
/** Ten times what it should take. */
const BITTEN_WITHIN_MS = 60_000;
const ENV = { HANGS: "1", STANDSTILL_SECONDS: String(STANDSTILL_SECONDS), OUTBOUND_ALLOW: "127.0.0.1/32" };

const linesOf = (server: TestServer) =>
  server
    .log()
    .split("\n")
    .filter((line) => line.startsWith("{") && line.includes("stood still"))
    .map((line) => JSON.parse(line) as Record<string, any>);

const ended = (server: TestServer): Promise<number | null> =>
  Promise.race([
    server.ended(),
    sleep(BITTEN_WITHIN_MS, undefined, { ref: false }).then(() => Promise.reject(new Error("it still stands"))),
  ]);

test.concurrent("in a request: its id, the operation's name and hash and the stack are in the log, and the exit code is 70", async () => {
  await using server = await startTestServer({ env: ENV });
  const name = `Named${"x".repeat(20_000)}`;
  const query = `query ${name}($id: ID!) { run(id: $id) { id } }`;
  post(`${server.url}/graphql`, query, { id: "secret" }, "STAND-STILL", { "x-request-id": "the-one" }).catch(() => {});
  expect(await ended(server)).toBe(EXIT_CODE);
  const [line] = linesOf(server);
  expect(line).toMatchObject({ level: 50, msg: `the event loop stood still for ${STANDSTILL_SECONDS} s`, runs: [] });
  expect(line!["stack"][0]).toMatch(/^standStill \(.*\/server\.[jt]s:\d+:\d+\)$/);
  const hash = createHash("sha256").update(query).digest("hex").slice(0, 16);
  expect(line).toMatchObject({ requestId: "the-one", operation: `${name.slice(0, 99)}…`, query: hash });
  expect(server.log()).not.toContain("secret");
});

test.concurrent("in a call of the system: the exit is by SIGABRT", async () => {
  await using server = await startTestServer({ env: ENV });
  post(`${server.url}/graphql`, "{ me { id } } # SLEEP-FOR-EVER", {}, server.world.apiKey).catch(() => {});
  expect(await ended(server)).toBe(null);
  expect(linesOf(server)).toMatchObject([{ msg: expect.stringContaining("in code that can't be interrupted") }]);
});

test.concurrent("stopped and continued, or with a debugger, it is left alone", async () => {
  // The debugger's own port may be another process's.
  await using server = await startTestServer({ env: { ...ENV, NODE_OPTIONS: "--inspect-port=0" } });
  process.kill(server.pid, "SIGSTOP");
  await sleep((STANDSTILL_SECONDS + 2) * 1_000);
  process.kill(server.pid, "SIGCONT");
  await sleep(2_500);
  expect((await server.data("{ me { name } }")).me.name).toBe("first");
  process.kill(server.pid, "SIGUSR1");
  await eventually(() => server.log().includes("Debugger listening"));
  await sleep(1_500);
  post(`${server.url}/graphql`, "{ me { id } } # STAND-STILL", {}, server.world.apiKey).catch(() => {});
  await sleep((STANDSTILL_SECONDS + 2) * 1_000);
  expect(linesOf(server)).toEqual([]);
  await server.kill();
});

/** A call of `/still` is answered with what makes its run stand still, once it may be; others after a moment. */
async function startAnswers() {
  const calls = { still: 0 };
  const mayBe = Promise.withResolvers<void>();
  const server = http.createServer((request, response) => {
    const isStill = request.url!.startsWith("/still");
    if (isStill) calls.still++;
    const answer = isStill ? '{"a":"STAND-STILL"}' : "{}";
    const moment = isStill ? mayBe.promise : sleep(200);
    void moment.then(() => response.setHeader("content-type", "application/json").end(answer));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    calls,
    release: mayBe.resolve,
    [Symbol.dispose]: () => (server.closeAllConnections(), void server.close()),
  };
}

const ENDS = scaled({ whole: [1, 2, 3, 4, 5], part: [4, 5] });

test.concurrent("in a run: it is blamed at each end, given up after the fifth, and all the others go on", async () => {
  using answers = await startAnswers();
  await using server = await startTestServer({ env: ENV });
  const client = await connectTo(server);
  // With the time that all ends together take on a slow machine.
  const call = (path: string) =>
    `{call: http, with: {method: post, endpoint: '${answers.url}${path}'}, timeout: {after: {hours: 1}}}`;
  const still = await agentOf(
    server,
    `do: [{first: {set: {n: 1}}}, {still: ${call("/still")}}, {after: {set: {n: 2}}}]`,
  );
  const other = await agentOf(
    server,
    `do: [{call: ${call("/other")}}, {wait: {wait: {seconds: 8}}}, {again: ${call("/other")}}, {done: {set: {n: 1}}}]`,
  );
  const others = [await start(server, other), await start(server, other), await start(server, other)];
  const culprit = await start(server, still);
  const blamed = async (): Promise<{ most: number; blamed: string }> =>
    (await client.query("select max(blamed) as most, count(*) filter (where blamed > 0) as blamed from runs")).rows[0];
  for (const [index, end] of ENDS.entries()) {
    // Ends that the part leaves out.
    if (end - 1 !== (ENDS[index - 1] ?? 0)) {
      await eventually(() => answers.calls.still > index);
      await client.query("update runs set blamed = $1 where id = $2", [end - 1, decodeId("run", culprit)]);
    }
    answers.release();
    expect(await ended(server)).toBe(EXIT_CODE);
    expect(linesOf(server)).toHaveLength(index + 1);
    await server.restart();
    // Who executes next counts it, once the lock of the one before is free; after the fifth it is given up, and blamed no longer.
    if (end < 5) await eventually(async () => (await blamed()).most === end);
    if (end < 5) expect(await blamed()).toEqual({ most: end, blamed: "1" });
  }
  const failed = await until(server, culprit, ...ENDED);
  const crashed = { type: expect.stringMatching(/\/crashed$/), detail: expect.stringMatching(/5 times/) };
  expect(failed).toMatchObject({ status: "failed", error: crashed });
  expect(await blamed()).toEqual({ most: 0, blamed: "0" });
  for (const id of others) {
    const run = await until(server, id, ...ENDED);
    expect(run, server.log().slice(-10_000)).toMatchObject({ status: "completed", output: { n: 1 } });
  }
  const [line] = linesOf(server);
  expect(line).toMatchObject({ runId: culprit, runs: expect.arrayContaining([culprit]) });
  expect(answers.calls.still).toBe(ENDS.length);
  await client.end();
});
