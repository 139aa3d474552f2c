/**
 * Errors that a run meets while it is advanced: what its own data throws is its error, an internal error ends it after five
 * tries, and a database that can't serve never does.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { publish, start } from "./agents.ts";
import { eventually, ON_OPERATORS, startTestServer, type Data, type TestServer } from "./client.ts";
import { connectTo } from "./faults/audit.ts";
import { startDoor } from "./flood.ts";
import { agentOf, answered, ran, readRun, runOf, stepsOf, until } from "./runs.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ env: { OUTBOUND_ALLOW: "127.0.0.1/32" } });
});
afterAll(() => server[Symbol.asyncDispose]());

const kindOf = ({ error }: Data): string => error?.type.split("/").at(-1);
const linesOf = (id: string): string[] =>
  server
    .log()
    .split("\n")
    .filter((line) => line.includes("could not be advanced") && line.includes(id));

/** As the database has it. */
const uuidOf = (id: string): string => {
  const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
  let value = 0n;
  for (const letter of id.slice(id.lastIndexOf("_") + 1)) value = value * 32n + BigInt(alphabet.indexOf(letter));
  return value
    .toString(16)
    .padStart(32, "0")
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
};

test.each([
  [
    "half of a surrogate pair in an endpoint",
    "do: [{a: {call: http, with: {method: get, endpoint: 'https://example.org/{x}'}}}]",
    { x: "\ud800" },
    "validation",
  ],
  [
    "a URL that would be filled in to 180 MB",
    `do: [{a: {call: http, with: {method: get, endpoint: 'http://127.0.0.1:1/${"{x}".repeat(100)}'}}}]`,
    { x: " ".repeat(600_000) },
    "validation",
  ],
  [
    "a query of a call of 70,000 characters",
    "do: [{a: {call: http, with: {method: get, endpoint: 'http://127.0.0.1:1/', query: {x: '${ .x }'}}}}]",
    { x: "x".repeat(70_000) },
    "validation",
  ],
  [
    "a value 20,000 deep",
    "do: [{a: {set: {x: '${ reduce range(20000) as $x (0; [.]) | tojson }'}}}]",
    {},
    "expression",
  ],
  [
    "a text of 1 GB",
    "do: [{a: {set: {x: '${ [range(30)] | reduce .[] as $x (\"abcdefgh\"; . + .) }'}}}]",
    {},
    "expression",
  ],
  [
    "results of many items that are a thousand times the limit",
    "do: [{a: {call: 'each:1.0.0@default', with: {in: '${ [range(1000)] }', item: i, do: [{b: {set: '${ $workflow.input }'}}]}}}]",
    { x: "x".repeat(600_000) },
    "runtime",
  ],
  [
    "a NUL in a question",
    "do: [{a: {call: 'approval:1.0.0@default', with: {question: '${ .x }'}}}]",
    { x: "a\0b" },
    "validation",
  ],
  [
    "a line break in a header",
    "do: [{a: {call: http, with: {method: get, endpoint: 'https://example.org', headers: {a: '${ .x }'}}}}]",
    { x: "a\nb" },
    "validation",
  ],
])("%s is the run's own error, at once", async (_, body, input, kind) => {
  const run = await answered(server, "id error { type }", { agentId: await agentOf(server, body), input });
  expect([run.status, kindOf(run)]).toEqual(["failed", kind]);
  expect(linesOf(run.id)).toEqual([]);
});

test("an error's texts are cut: 1,000 attempts with a detail of 500,000 characters are kept in 10 MB", async () => {
  const run = await runOf(
    server,
    `do: [{t: {try: [{a: {raise: {error: {type: 'https://example.org/x', status: 500, detail: '\${ .x }'}}}}], catch: {retry: {limit: {attempt: {count: 3}}}}}}]`,
    { x: "x".repeat(500_000) },
  );
  expect(run.error.detail).toHaveLength(LIMITS.errorCharacters);
  for (const { error } of run.steps[0].attempts) expect(error.detail).toHaveLength(LIMITS.errorCharacters);
});

test("an internal error ends the run after five tries with type internal, and is logged once with its stack", async () => {
  const agentId = await agentOf(
    server,
    "do: [{pause: {wait: PT1S}}, {ask: {call: 'approval:1.0.0@default', with: {question: q}}}]",
  );
  const { id } = await ran(server, agentId);
  // A row that no program of ours writes.
  const client = await connectTo(server);
  await client.query(
    "update steps set state = '7', output = null, status = 'running' where name = 'pause' and run_id = $1",
    [uuidOf(id)],
  );
  const epochOf = async (): Promise<number> =>
    (await client.query("select epoch from runs where id = $1", [uuidOf(id)])).rows[0].epoch;
  const before = await epochOf();
  await client.query(
    "update runs set state = '{\"deadline\": {}, \"input\": 3}', version = '9.9.9', wake_at = now(), wake_seq = wake_seq + 1 where id = $1",
    [uuidOf(id)],
  );
  const run = await until(server, id, "failed");
  expect(kindOf(run)).toBe("internal");
  // Each try claims the run, and so does its end, which fences it once more.
  expect((await epochOf()) - before).toBe(LIMITS.internalTries + 2);
  await client.end();
  expect(stepsOf(run)).toEqual(["pause cancelled", "ask cancelled"]);
  expect(run.approvals.nodes[0].status).toBe("withdrawn");
  expect(linesOf(id)).toHaveLength(1);
  expect(JSON.parse(linesOf(id)[0]!)).toMatchObject({
    reason: expect.stringMatching(/9\.9\.9/),
    stack: expect.stringMatching(/at /),
  });
  expect((await readRun(server, id)).status).toBe("failed");
});

test("a server that is overloaded for longer than five tries fails no run: it goes on afterwards", async () => {
  await using door = await startDoor();
  const child = await agentOf(server, "do: [{a: {set: {done: true}}}]", "child");
  const agentId = await agentOf(
    server,
    `do: [{hold: {call: http, with: {method: get, endpoint: '${door.url}'}, output: {as: {}}}}, {c: {run: {workflow: {namespace: test, name: child, version: '1.0.0'}}}}]`,
  );
  const id = await start(server, agentId);
  await eventually(() => door.calls() === 1);
  await server.setFreeBytes(0);
  // Until the server has looked, too.
  const another = `mutation { runAgent(input: {agentId: "${child}"}) { id } }`;
  await eventually(async () => (await server.graphql(another)).errors);
  door.open();
  await eventually(() => linesOf(id).length > 0);
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  expect((await readRun(server, id)).status).toBe("running");
  expect(linesOf(id)).toHaveLength(1);
  await server.setFreeBytes(null);
  expect((await until(server, id, "completed", "failed")).output).toEqual({ done: true });
});

test("without space on the disk new runs are UNAVAILABLE (503 with Retry-After), and everything else goes on", async (context) => {
  // The operator's database has a disk of its own.
  context.skip(!server.isEmbedded, ON_OPERATORS);
  const three = await publish(server, "three");
  const begin = () => server.graphql(`mutation { runAgent(input: {agentId: "${three}", input: {n: 1}}) { id } }`);
  await server.setFreeBytes(1_000_000);
  await expect.poll(async () => (await begin()).errors?.[0]!.extensions.code).toBe("UNAVAILABLE");
  const refused = await begin();
  expect(refused).toMatchObject({ status: 503, data: { runAgent: null } });
  expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
  expect((await server.graphql("{ me { id } }")).status).toBe(200);
  expect((await fetch(`${server.url}/readyz`)).status).toBe(503);
  await server.setFreeBytes(null);
  await expect.poll(async () => (await begin()).status).toBe(200);
});
