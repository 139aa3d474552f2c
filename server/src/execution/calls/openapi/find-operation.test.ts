import { afterAll, beforeEach, expect, test } from "vitest";
import type { ApiOperationName, ReadApiOperation } from "../../../definition/openapi/operation.ts";
import { newId } from "../../../lib/ids.ts";
import { LIMITS } from "../../../lib/limits.ts";
import type { OutboundRequest } from "../../../outbound/outbound.ts";
import type { Frame } from "../../frame.ts";
import { createConcealing } from "../calling.ts";
import { ApiOperations } from "./find-operation.ts";

const head = { organizationId: newId(), agentId: newId(), version: "1.0.0" };
/** The database, and how often it and the document's server were asked. */
const pinned = new Map<string, string>();
const counts = { read: 0, fetched: 0 };
let document = "";
/** The document's server answers after this. */
let held: Promise<void> | undefined;
beforeEach(() => {
  pinned.clear();
  Object.assign(counts, { read: 0, fetched: 0 });
});

const surroundings = {
  async readOperation(_: unknown, { operationId }: ApiOperationName) {
    counts.read++;
    return pinned.get(operationId);
  },
  async pinOperation(_: unknown, { operationId }: ApiOperationName, { operation }: ReadApiOperation) {
    if (!pinned.has(operationId)) pinned.set(operationId, operation);
    return pinned.get(operationId)!;
  },
};
const outbound = {
  async request({ url, taken }: OutboundRequest) {
    counts.fetched++;
    await held;
    const response = { status: 200, statusText: "", url, headers: {}, setCookies: [], body: Buffer.from(document) };
    await taken!(response);
    return response;
  },
};
const calling = {
  outbound,
  readSecrets: async () => new Map(),
  tokens: undefined as never,
  concealing: createConcealing(),
};

const frameOf = (signal: AbortSignal, of: object = head): Frame =>
  ({
    execution: { journal: { head: of }, shared: { surroundings }, turn: () => undefined },
    scope: { signal },
  }) as never;
const find = (
  operations: ApiOperations,
  operationId: string,
  { signal = new AbortController().signal, of = head, secrets = new Map<string, string>() } = {},
) =>
  operations.find(frameOf(signal, of), { document: "https://example.com/a.json", operationId }, (_, work) =>
    work({ authentication: { policy: undefined, secrets }, filled: undefined }),
  );

const operations = new ApiOperations(calling);
afterAll(() => operations[Symbol.asyncDispose]());

const documentWith = (...names: string[]): string =>
  JSON.stringify({
    openapi: "3.0.0",
    paths: Object.fromEntries(names.map((name) => [`/${name}`, { get: { operationId: name } }])),
  });

test("an operation is read from its document once, by however many, and then kept", async () => {
  document = documentWith("one", "two");
  const found = await Promise.all(Array.from({ length: 10 }, () => find(operations, "one")));
  expect(new Set(found.map(({ path }) => path))).toEqual(new Set(["/one"]));
  await find(operations, "one");
  expect(counts).toEqual({ read: 1, fetched: 1 });
  // Another version has its own.
  await find(operations, "one", { of: { ...head, version: "2.0.0" } });
  expect(counts.read).toBe(2);
});

test("what fails is not kept, and reaches all who wait", async () => {
  document = "nothing";
  const failed = await Promise.allSettled([find(operations, "new"), find(operations, "new")]);
  expect(failed.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  document = documentWith("new");
  expect((await find(operations, "new")).path).toBe("/new");
  expect(counts.fetched).toBe(2);
});

test("one who leaves takes nothing from the others; after the last one nothing is pinned", async () => {
  document = documentWith("left");
  const [first, second] = [new AbortController(), new AbortController()];
  const leaving = find(operations, "left", first);
  const staying = find(operations, "left", second);
  first.abort(new Error("cancelled"));
  await expect(leaving).rejects.toThrow("cancelled");
  expect((await staying).path).toBe("/left");
  const alone = new AbortController();
  document = documentWith("gone", "later");
  const only = find(operations, "gone", alone);
  alone.abort(new Error("cancelled"));
  await expect(only).rejects.toThrow("cancelled");
  // Would have been read before this one.
  await find(operations, "later");
  expect(pinned.has("gone")).toBe(false);
});

test("a run that comes after the last one has left does not share in its abandoned search", async () => {
  document = documentWith("again");
  const { promise, resolve } = Promise.withResolvers<void>();
  held = promise;
  const alone = new AbortController();
  const only = find(operations, "again", alone);
  await expect.poll(() => counts.fetched).toBe(1);
  alone.abort(new Error("cancelled"));
  await expect(only).rejects.toThrow("cancelled");
  const next = find(operations, "again");
  held = undefined;
  resolve();
  expect((await next).path).toBe("/again");
});

test("an operation of which nothing is kept any longer is read again from the database", async () => {
  await using own = new ApiOperations(calling);
  const characters = LIMITS.openapiOperationCharacters;
  const most = LIMITS.openapiKeptCharacters / characters;
  for (let count = 0; count <= most; count++) pinned.set(`${count}`, `{"path":"/${count}"}`.padEnd(characters));
  for (let count = 0; count < most; count++) await find(own, `${count}`);
  await find(own, "0");
  expect(counts).toEqual({ read: most, fetched: 0 });
  await find(own, `${most}`);
  await find(own, "1");
  expect(counts).toEqual({ read: most + 2, fetched: 0 });
});

test("a document that takes too long to read is given up, and the thread with it", async () => {
  await using quick = new ApiOperations(calling, 50);
  document = `openapi: 3.0.0\npaths:\n${Array.from({ length: 20_000 }, (_, at) => `  /a${at}: {get: {operationId: a${at}, tags: [a, b]}}\n`).join("")}`;
  await expect(find(quick, "a1")).rejects.toThrow(`takes more than ${LIMITS.openapiReadSeconds} s to read`);
  expect((await find(operations, "a19999")).path).toBe("/a19999");
});

test("a billion laughs cost nothing, and deep nesting is an error", async () => {
  const laughs = Array.from(
    { length: 30 },
    (_, at) => `a${at + 1}: &a${at + 1} [${Array(9).fill(`*a${at}`).join()}]\n`,
  );
  document = `a0: &a0 [x]\n${laughs.join("")}openapi: 3.0.0\npaths: {/a: {get: {operationId: laugh}}}\n`;
  // Each alias is the same list again: nothing is written out.
  expect((await find(operations, "laugh")).path).toBe("/a");
  document = `openapi: ${"[".repeat(100_000)}`;
  await expect(find(operations, "deep")).rejects.toThrow(/the OpenAPI document from example.com/);
  document = `{"openapi": ${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}}`;
  await expect(find(operations, "deep")).rejects.toThrow(/the OpenAPI document from example.com/);
});

test("a secret that a document repeats is kept nowhere", async () => {
  const secret = "s3cr3t-0123456789";
  document = JSON.stringify({
    openapi: "3.0.0",
    servers: [{ url: `https://${secret}.example.com` }],
    paths: { "/a": { get: { operationId: "echo" } } },
  });
  const secrets = new Map([["key", secret]]);
  expect((await find(operations, "echo", { secrets })).server.url).toBe("https://[redacted].example.com");
  expect(pinned.get("echo")).not.toContain(secret);
  document = JSON.stringify({ openapi: secret });
  await expect(find(operations, "other", { secrets })).rejects.toThrow('has the version "[redacted]"');
});
