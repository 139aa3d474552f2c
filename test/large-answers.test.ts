/** Answers have a size: while they are read, while they are made, and while nobody takes them. */
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { publish } from "./agents.ts";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import type { World } from "./server.ts";
import { agentOf, answered } from "./runs.ts";
import { scaled } from "./scale.ts";
import { LIMITS } from "../server/src/lib/limits.ts";

const RUNS = 40;
/** Nearly the largest input there may be. */
const large = { text: "x".repeat(630_000) };
const START = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id status } }";
const READER_MS = 20_000;

let server: TestServer;
let other: World;
let ids: string[];
/** A run with 40 steps of 630 kB: 25 MB. */
let long: string;

beforeAll(async () => {
  server = await startTestServer();
  other = await server.organization("other");
  const agentId = await publish(server, "echo");
  ids = [];
  for (let index = 0; index < RUNS; index++) {
    ids.push((await server.data(START, { input: { agentId, input: large, wait: 30 } })).runAgent.id);
  }
  const body = "do: [{all: {for: {in: '${ [range(40)] }', each: n}, do: [{one: {set: '${ $workflow.input }'}}]}}]";
  long = (await answered(server, "id", { agentId: await agentOf(server, body), input: large })).id;
});
afterAll(() => server[Symbol.asyncDispose]());

const residentMb = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${server.pid}/status`, "utf8"))![1]) / 1024;

/** Sends a request and reads nothing of the answer. */
async function ask(query: string, accept = "application/json"): Promise<net.Socket> {
  const { hostname, port } = new URL(server.url);
  const socket = net.connect(Number(port), hostname);
  socket.on("error", () => {});
  socket.pause();
  await once(socket, "connect");
  const body = JSON.stringify({ query });
  socket.write(
    `POST /graphql HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${server.world.apiKey}\r\naccept: ${accept}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  return socket;
}

/** Whether what the organization holds leaves no room for another large answer. */
const isHeld = async (): Promise<boolean> =>
  code((await server.graphql("{ runs(first: 6) { nodes { input output } } }")).errors) === "UNAVAILABLE";

/** The same 20 s on, over and over: what the kernel takes meanwhile begins the time again. */
const isHeldLater = async (): Promise<boolean> => {
  await server.clock.advance(READER_MS);
  return isHeld();
};

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const code = (errors: Data): string | undefined => errors?.[0]?.extensions.code;

describe("one answer", () => {
  test("a list without payloads reads none, and one with more than 8 MiB is refused before it is read", async () => {
    const before = residentMb();
    const { runs } = await server.data("{ runs(first: 200) { nodes { id status } } }");
    expect(runs.nodes).toHaveLength(RUNS + 1);
    const { errors, data } = await server.graphql("{ runs(first: 200) { nodes { input output } } }");
    expect(errors).toEqual([expect.objectContaining({ message: expect.stringContaining("8388608 bytes") })]);
    expect(code(errors)).toBe("QUERY_TOO_COMPLEX");
    expect(data).toBeUndefined();
    expect(residentMb() - before).toBeLessThan(100);
  });

  test("one that is found too large while other fields of it are still being read is refused, and nothing else happens", async () => {
    for (const fields of ["input agent { version }", "agent { version } input", "input output agent { version }"]) {
      expect(code((await server.graphql(`{ runs(first: 200) { nodes { ${fields} } } }`)).errors)).toBe(
        "QUERY_TOO_COMPLEX",
      );
    }
    await sleep(100);
    expect(await server.data("{ me { name } }")).toBeDefined();
  });

  test("a run with the largest input and output is answered, over fragments and aliases too", async () => {
    const { run } = await server.data(
      `{ run(id: "${ids[0]}") { ...F out: output } } fragment F on Run { input steps { output } }`,
    );
    expect(run).toEqual({ input: large, out: large, steps: [{ output: large }] });
  });

  test("what is answered thirty times counts thirty times", async () => {
    const aliases = Array.from({ length: 30 }, (_, index) => `a${index}: output`).join(" ");
    expect(code((await server.graphql(`{ run(id: "${ids[0]}") { ${aliases} } }`)).errors)).toBe("QUERY_TOO_COMPLEX");
    const fields = Array.from({ length: 30 }, (_, index) => `a${index}: run(id: "${ids[index]}") { output }`).join(" ");
    expect(code((await server.graphql(`{ ${fields} }`)).errors)).toBe("QUERY_TOO_COMPLEX");
  });

  test("a mutation that was done is answered with one error for what does not fit", async () => {
    const agentId = await publish(server, "three");
    const aliases = Array.from({ length: 30 }, (_, index) => `a${index}: output`).join(" ");
    const { data, errors } = await server.graphql(
      `mutation { rerunRun(input: {runId: "${ids[0]}"}) { id } runAgent(input: {agentId: "${agentId}", input: {n: 1}}) { id } }`,
    );
    expect(errors).toBeUndefined();
    expect(data.rerunRun.id).toMatch(/^run_/);
    const again = await server.graphql(
      `mutation($input: RunAgentInput!) { runAgent(input: $input) { id ${aliases} } }`,
      { input: { agentId: await publish(server, "echo"), input: large, wait: 30 } },
    );
    expect(again.errors).toHaveLength(1);
    expect(code(again.errors)).toBe("QUERY_TOO_COMPLEX");
    expect(again.data.runAgent.id).toMatch(/^run_/);
  });

  test("drafts in refusals count as those in answers", async () => {
    const agentId = await publish(server, "three");
    const save = `saveAgentDraft(input: {agentId: "${agentId}", definition: "x", expectedRevision: 1000}) { id }`;
    const definition = "x".repeat(LIMITS.definitionBytes);
    await server.data("mutation($input: SaveAgentDraftInput!) { saveAgentDraft(input: $input) { id } }", {
      input: { agentId, definition },
    });
    const saves = Array.from({ length: 29 }, (_, index) => `a${index}: ${save}`).join(" ");
    const { data, errors } = await server.graphql(
      `mutation($input: RunAgentInput!) { ${saves} runAgent(input: $input) { id input output } }`,
      { input: { agentId: await publish(server, "echo"), input: large, wait: 30 } },
    );
    expect(errors!.map(({ extensions }) => extensions.code)).toEqual([
      ...Array.from({ length: 29 }, () => "CONFLICT"),
      "QUERY_TOO_COMPLEX",
    ]);
    expect(data.runAgent.id).toMatch(/^run_/);
  });
});

test("attempts are paged", async () => {
  const body = `do:
  - again:
      try: [{broken: {raise: {error: {type: 'https://example.org/errors/broken', status: 500, detail: '\${ "x" * 20000 }'}}}}]
      catch: {retry: {limit: {attempt: {count: 5}}}}
`;
  const agentId = await agentOf(server, body);
  const attempts = "attempts { number } page: attempts(first: 2, after: 1) { number error { detail } }";
  const { runAgent } = await server.data(
    `mutation($input: RunAgentInput!) { runAgent(input: $input) { status steps { ${attempts} } } }`,
    { input: { agentId, wait: 30 } },
  );
  expect(runAgent.status).toBe("failed");
  for (const step of runAgent.steps) {
    const all = step.attempts.map(({ number }: Data) => number);
    expect(step.page.map(({ number }: Data) => number)).toEqual(
      all.filter((number: number) => number === 2 || number === 3),
    );
  }
  const { errors } = await server.graphql(`{ run(id: "${ids[0]}") { steps { attempts(first: 1001) { number } } } }`);
  expect(code(errors)).toBe("QUERY_TOO_COMPLEX");
});

describe("readers that take nothing", () => {
  type Unread = [count: number, what: string, query: string, accept: string];
  const TELLING: Unread[] = [
    [20, "answers", "{ runs(first: 6) { nodes { input output } } }", "application/json"],
    [20, "streams of a run", "subscription { runUpdated(runId: $RUN) { input output } }", "text/event-stream"],
  ];
  /** Each of the first two would be 25 MB. */
  const LARGER: Unread[] = [
    [
      20,
      "answers with all payloads of 200 runs",
      "{ runs(first: 200) { nodes { input output } } }",
      "application/json",
    ],
    [
      30,
      "streams of 25 MB of steps",
      "subscription { runEvents(runId: $LONG) { run { input output } step { input output } } }",
      "text/event-stream",
    ],
    [30, "streams of runs that change", "subscription { runsChanged { input output } }", "text/event-stream"],
  ];

  test.for(scaled({ whole: [...TELLING, ...LARGER], part: TELLING }))(
    "%i unread %s hold tens of MB, refuse nobody else, and are cut after 20 s",
    async (asked) => {
      const [count, what, query, accept] = asked;
      const before = residentMb();
      const sockets = await Promise.all(
        Array.from({ length: count }, (_, index) =>
          ask(query.replace("$RUN", `"${ids[index]}"`).replace("$LONG", `"${long}"`), accept),
        ),
      );
      if (what.endsWith("change")) {
        for (const id of ids.slice(0, 20)) await server.data(`mutation { rerunRun(input: {runId: "${id}"}) { id } }`);
      }
      await sleep(1_000);
      expect(residentMb() - before).toBeLessThan(200);
      const { data } = await server.graphql("{ runs(first: 6) { nodes { id input } } me { id } }", {}, other.apiKey);
      expect(data.me.id).toMatch(/^user_/);
      // A slow machine still makes them.
      if (what === "answers") await expect.poll(isHeld).toBe(true);
      expect(residentMb() - before).toBeLessThan(200);
      await expect.poll(isHeldLater, { interval: 500 }).toBe(false);
      for (const socket of sockets) socket.destroy();
    },
  );

  test("a WebSocket too, whatever it subscribes to", async () => {
    const before = residentMb();
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
    socket.on("error", () => {});
    const closed = once(socket, "close");
    await once(socket, "open");
    const send = (message: object): void => socket.send(JSON.stringify(message));
    const acknowledged = once(socket, "message");
    send({ type: "connection_init", payload: { Authorization: `Bearer ${server.world.apiKey}` } });
    await acknowledged;
    socket.pause();
    const queries = Array.from({ length: 4 }, () => "{ runs(first: 6) { nodes { input output } } }");
    const runs = ids.map((id) => `subscription { runUpdated(runId: "${id}") { input output } }`);
    const steps = Array.from({ length: 10 }, () => `subscription { runEvents(runId: "${long}") { step { output } } }`);
    let sent = 0;
    const subscribe = (query: string): void => send({ id: `${++sent}`, type: "subscribe", payload: { query } });
    [...queries, ...runs, ...steps].forEach(subscribe);
    // Memory that others held until a moment ago may have left them no room.
    await expect.poll(() => (subscribe(queries[0]!), isHeld()), { interval: 1_000 }).toBe(true);
    expect(residentMb() - before).toBeLessThan(200);
    await expect.poll(isHeldLater, { interval: 500 }).toBe(false);
    socket.resume();
    expect((await closed)[0]).toBe(1006);
  });

  test("one that reads slowly gets all of it", async () => {
    const socket = await ask("{ runs(first: 6) { nodes { input output } } }");
    let bytes = 0;
    socket.on("data", (chunk) => (bytes += chunk.length));
    // The answer is made in real time, before the clock runs.
    const begun = once(socket, "data");
    socket.resume();
    await begun;
    const readSome = async (): Promise<boolean> => {
      socket.resume();
      await sleep(20);
      socket.pause();
      await server.clock.advance(READER_MS / 2);
      return bytes > 5_000_000;
    };
    for (let step = 0; step < 20; step++) await readSome();
    // As many more as a slow machine needs.
    await eventually(readSome);
    socket.destroy();
  });
});
