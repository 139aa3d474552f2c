/** The language over the wire: `instance`, the place in the definition that an error comes from, wherever it is shown. */
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { start } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { agentOf, ran, readRun, runOf, until } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

let server: MovedServer;
/** Answers 503, or never to `/hang`. */
const broken = createServer((request, response) => {
  if (request.url !== "/hang") response.writeHead(503).end();
});
let url: string;
beforeAll(async () => {
  server = await movedServer();
  await once(broken.listen(0, "127.0.0.1"), "listening");
  url = `http://127.0.0.1:${(broken.address() as AddressInfo).port}`;
});
afterAll(async () => {
  broken.closeAllConnections();
  broken.close();
  await server[Symbol.asyncDispose]();
});

const CALL = (path = "/"): string => `{call: http, with: {method: get, endpoint: '${url}${path}'}}`;
const RAISE = `{raise: {error: {type: 'https://example.org/errors/broken', status: 418}}}`;
const MEND =
  "catch: {as: e, do: [{mend: {set: {at: '${ $e.instance }', type: '${ $e.type | split(\"/\") | last }'}}}]}";

const caughtAt = async (body: string): Promise<unknown> => (await runOf(server, body)).output?.at;

test("a caught error names the task that raised it, however deep, alone in its try or not", async () => {
  expect(await caughtAt(`do: [{t: {try: [{fetch: ${CALL()}}], ${MEND}}}]`)).toBe("/do/0/t/try/0/fetch");
  expect(await caughtAt(`do: [{t: {try: [{ok: {set: {a: 1}}}, {fetch: ${CALL()}}], ${MEND}}}]`)).toBe(
    "/do/0/t/try/1/fetch",
  );
  expect(await caughtAt(`do: [{t: {try: [{d: {do: [{x: {set: {a: 1}}}, {r: ${RAISE}}]}}], ${MEND}}}]`)).toBe(
    "/do/0/t/try/0/d/do/1/r",
  );
  expect(
    await caughtAt(`do: [{t: {try: [{f: {fork: {branches: [{w: {wait: PT5S}}, {r: ${RAISE}}]}}}], ${MEND}}}]`),
  ).toBe("/do/0/t/try/0/f/fork/branches/1/r");
  expect(
    await caughtAt(
      `do: [{t: {try: [{e: {call: 'each:1.0.0@default', with: {in: '\${ [1, 2] }', item: i, do: [{r: ${RAISE}}]}}}], ${MEND}}}]`,
    ),
  ).toBe("/do/0/t/try/0/e/with/do/0/r");
  expect(await caughtAt(`do: [{t: {try: [{f: {for: {in: '\${ [1] }'}, do: [{r: ${RAISE}}]}}], ${MEND}}}]`)).toBe(
    "/do/0/t/try/0/f/do/0/r",
  );
  const nested = `{u: {try: [{r: ${RAISE}}], catch: {do: [{worse: ${RAISE}}]}}}`;
  expect(await caughtAt(`do: [{t: {try: [${nested}], ${MEND}}}]`)).toBe("/do/0/t/try/0/u/catch/do/0/worse");
});

test("an expression of a call that stands alone in its try is caught, with the call's place", async () => {
  const fetch = `{call: http, with: {method: get, endpoint: '${url}/', headers: {a: '\${ error("no") }'}}}`;
  expect((await runOf(server, `do: [{t: {try: [{fetch: ${fetch}}], ${MEND}}}]`)).output).toEqual({
    at: "/do/0/t/try/0/fetch",
    type: "expression",
  });
});

test("a timeout names the task whose it is; an attempt's the try", async () => {
  expect(await caughtAt(`do: [{t: {try: [{w: {wait: PT9S, timeout: {after: PT0.05S}}}], ${MEND}}}]`)).toBe(
    "/do/0/t/try/0/w",
  );
  const limited = `catch: {as: e, retry: {limit: {attempt: {count: 1, duration: PT0.05S}}}, do: [{mend: {set: {at: '\${ $e.instance }'}}}]}`;
  expect(await caughtAt(`do: [{t: {try: [{fetch: ${CALL("/hang")}}], ${limited}}}]`)).toBe("/do/0/t");
});

test("a failed run, its steps and their attempts name it; an error of the run itself names its part", async () => {
  const run = await runOf(
    server,
    `do: [{t: {try: [{fetch: ${CALL()}}], catch: {retry: {limit: {attempt: {count: 1}}}}}}]`,
  );
  expect(run.error).toMatchObject({ instance: "/do/0/t/try/0/fetch", stepNumber: 1 });
  const { steps } = (
    await server.data(
      `query($id: ID!) { run(id: $id) { steps { error { instance } attempts { error { instance } } } } }`,
      { id: run.id },
    )
  ).run;
  expect(steps[0].error.instance).toBe("/do/0/t/try/0/fetch");
  expect(steps[0].attempts.map(({ error }: Data) => error.instance)).toEqual([
    "/do/0/t/try/0/fetch",
    "/do/0/t/try/0/fetch",
  ]);
  expect((await runOf(server, `output: {as: '\${ error("no") }'}\ndo: [{a: {set: {a: 1}}}]`)).error.instance).toBe(
    "/output",
  );
  expect((await runOf(server, `input: {from: '\${ error("no") }'}\ndo: [{a: {set: {a: 1}}}]`)).error.instance).toBe(
    "/input",
  );
  expect((await runOf(server, `timeout: {after: PT0.05S}\ndo: [{a: {wait: PT9S}}]`)).error.instance).toBe("/timeout");
  const many = (more = ""): string =>
    `do: [{f: {for: {in: '\${ [range(6000)] }'}, ${more}do: [{a: {set: {a: 1}}}, {b: {set: {a: 1}}}]}}]`;
  // Before its first item, or where it gets to, as it may be left early.
  expect((await runOf(server, many())).error.instance).toBe("/do/0/f");
  expect((await runOf(server, many("while: '${ true }', "))).error.instance).toMatch(/^\/do\/0\/f\/do\/[01]\/[ab]$/);
});

test("a child's failure is its parent's task's; the attempt that a kill has cut short is the call's", async () => {
  await agentOf(server, `do: [{r: ${RAISE}}]`, "raises");
  const child = `{c: {run: {workflow: {namespace: test, name: raises, version: '1.0.0'}}}}`;
  expect((await ran(server, await agentOf(server, `do: [${child}]`))).error.instance).toBe("/do/0/c");
  const id = await start(server, await agentOf(server, `do: [{hang: ${CALL("/hang")}}]`));
  await eventually(async () => (await readRun(server, id)).steps.length === 1);
  await server.kill();
  await server.restart();
  await until(server, id, "running");
  const attempt = await eventually(async () => (await attemptsOf(id))[0]?.error);
  expect(attempt).toMatchObject({ instance: "/do/0/hang" });
  await server.data("mutation($id: ID!) { cancelRun(runId: $id) { id } }", { id });
});

const attemptsOf = async (id: string): Promise<Data[]> =>
  (await server.data("query($id: ID!) { run(id: $id) { steps { attempts { error { instance } } } } }", { id })).run
    .steps[0].attempts;
