import { afterAll, beforeAll, expect, test } from "vitest";
import { makeOwner, openAuth, quiet, startDatabases, type Databases } from "../auth/handle/auth.testsuite.ts";
import type { Acting } from "../auth/caller.ts";
import { secretKeys } from "../auth/tokens/secret-key.ts";
import { newId, type ProjectId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { createProject } from "../projects/projects.ts";
import { rotateKey } from "../secrets/rotate-key.ts";
import type { Database } from "../storage/database.ts";
import { createModelConnection } from "./create-connection.ts";
import { findConnection } from "./find-connection.ts";
import { deleteModelConnection } from "./delete-connection.ts";
import { listModelConnections } from "./list-connections.ts";
import type { ModelConnection } from "./model-connection.ts";
import { createModels, type Models } from "./models.ts";
import { ownerOf, sealedModelKeys } from "./store.ts";
import { updateModelConnection } from "./update-connection.ts";

const stack = new AsyncDisposableStack();
let databases: Databases;
let database: Database;
let auth: ReturnType<typeof openAuth>;
let models: Models;
let caller: Acting;
let projectId: ProjectId;

beforeAll(async () => {
  databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
  auth = openAuth(database);
  models = createModels({
    database,
    clock: auth.clock,
    log: quiet,
    derive: secretKeys(Buffer.alloc(32, 3)).derive,
  });
  ({ caller } = await makeOwner(auth));
  projectId = await projectOf("shop");
});
afterAll(() => stack.disposeAsync());

const projectOf = async (handle: string): Promise<ProjectId> =>
  (await createProject(auth, caller, { handle, name: handle })).id;

type Request = Parameters<typeof createModelConnection>[2];
const LOCAL = "http://localhost:11434/v1";
const request = (own: Partial<Request>): Request => ({
  projectId,
  name: "cheap",
  provider: "openai_compatible",
  baseUrl: LOCAL,
  model: "small",
  apiKey: null,
  apiKeyHeader: null,
  isDefault: false,
  prices: null,
  limits: null,
  ...own,
});
const create = (own: Partial<Request> = {}): Promise<ModelConnection> =>
  createModelConnection(models, caller, request(own));
const update = (id: ModelConnection["id"], changes: Parameters<typeof updateModelConnection>[3]) =>
  updateModelConnection(models, caller, id, changes);
const keyIn = async (connection: ModelConnection): Promise<string | undefined> => {
  const [row] = await database.query("select sealed_key from model_connections where id = $1", [connection.id]);
  return row!["sealed_key"] === null ? undefined : models.sealer.open(row!["sealed_key"], ownerOf(connection));
};
const defaults = async (project: ProjectId): Promise<string[]> =>
  (await listModelConnections(models, caller.organizationId, project))
    .filter((one) => one.isDefault)
    .map((one) => one.name);

test("a connection is read as it was made, its key by nobody", async () => {
  const prices = { inputPerMillion: 0.15, outputPerMillion: 0.6, cachedInputPerMillion: null, currency: "EUR" };
  const limits = { concurrency: 4, tokensPerDay: 2_000_000_000_000 / 2, costPerDay: null };
  const made = await create({ name: "first", apiKey: "sk-planted", prices, limits });
  expect(made).toMatchObject({ name: "first", model: "small", hasKey: true, isDefault: false, prices, limits });
  expect(await keyIn(made)).toBe("sk-planted");
  const [row] = await database.query("select * from model_connections where id = $1", [made.id]);
  expect(JSON.stringify(row)).not.toContain("planted");
  expect(await listModelConnections(models, caller.organizationId, projectId)).toEqual([made]);
  const stranger = (await makeOwner(auth)).caller;
  expect(await listModelConnections(models, stranger.organizationId, projectId)).toEqual([]);
  for (const refused of [
    () => updateModelConnection(models, stranger, made.id, { model: "large" }),
    () => deleteModelConnection(models, stranger, made.id),
    () => createModelConnection(models, stranger, request({ name: "theirs" })),
  ])
    await expect(refused()).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("a change keeps what is left out, also the key", async () => {
  const made = await create({
    name: "changing",
    apiKey: "sk-one",
    prices: PRICES,
    limits: { concurrency: 1, tokensPerDay: 5, costPerDay: 0 },
  });
  auth.clock.pass(1_000);
  const changed = await update(made.id, { model: "  large  " });
  expect(changed).toEqual({ ...made, model: "large", updatedAt: new Date(made.updatedAt.getTime() + 1_000) });
  expect(await keyIn(made)).toBe("sk-one");
  await update(made.id, { apiKey: "sk-two", name: "renamed" });
  expect(await keyIn(made)).toBe("sk-two");
  expect(await update(made.id, { apiKey: null, limits: null })).toMatchObject({ hasKey: false, limits: null });
  expect(await keyIn(made)).toBeUndefined();
});

test("a call finds a connection by name, or the default, with its key: here at once as it was changed, elsewhere within 5 s", async () => {
  const { organizationId } = caller;
  const project = { organizationId, projectId: await projectOf("calls") };
  const elsewhere = createModels({ ...models, derive: secretKeys(Buffer.alloc(32, 3)).derive });
  const find = (name?: string, by = models) => findConnection(by, project, name);
  expect([await find(), await find("cheap"), await find("cheap", elsewhere)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  const { id } = await create({ ...project, name: "cheap", apiKey: "sk-own", provider: "mistral", baseUrl: null });
  expect(await find("cheap")).toEqual({
    id,
    name: "cheap",
    provider: "mistral",
    baseUrl: "https://api.mistral.ai/v1",
    model: "small",
    apiKey: "sk-own",
    apiKeyHeader: null,
    prices: null,
    limits: null,
  });
  expect([await find(), await find("cheap", elsewhere)]).toEqual([undefined, undefined]);
  auth.clock.pass(5_000);
  expect(await find("cheap", elsewhere)).toMatchObject({ id });
  await update(id, { isDefault: true, apiKey: null, name: "dear" });
  expect(await find()).toMatchObject({ id, name: "dear", apiKey: undefined });
  expect(await find("cheap")).toBeUndefined();
  expect(await find("cheap", elsewhere)).toMatchObject({ apiKey: "sk-own" });
  await deleteModelConnection(models, caller, id);
  expect(await find()).toBeUndefined();
  // A connection whose key does not open is not found: nothing is sent without it.
  const { id: foreign } = await create({ ...project, name: "foreign", apiKey: "sk-own" });
  await database.query("update model_connections set sealed_key = 'changed' where id = $1", [foreign]);
  expect(await find("foreign")).toBeUndefined();
  await deleteModelConnection(models, caller, foreign);
});

test("a key is not sent to a server that it was not given for", async () => {
  const made = await create({ name: "moving", apiKey: "sk-own" });
  for (const elsewhere of [
    { baseUrl: "http://localhost:11435/v1" },
    { baseUrl: "https://localhost:11434/v1" },
    { provider: "openai", baseUrl: null } as const,
  ])
    await expect(update(made.id, elsewhere)).rejects.toMatchObject({
      code: "BAD_USER_INPUT",
      details: { fields: [{ path: "input.apiKey", code: "required" }] },
    });
  expect(await update(made.id, { baseUrl: "http://localhost:11434/other" })).toMatchObject({ hasKey: true });
  expect(await update(made.id, { baseUrl: "http://localhost:11435/v1", apiKey: null })).toMatchObject({
    hasKey: false,
  });
  expect(await update(made.id, { baseUrl: "http://localhost:11436/v1" })).toMatchObject({ hasKey: false });
});

test("a key goes in no other header than it was given for", async () => {
  const made = await create({ name: "header", apiKey: "sk-own", apiKeyHeader: "api-key" });
  expect(made).toMatchObject({ apiKeyHeader: "api-key" });
  for (const apiKeyHeader of [null, "x-request-id"])
    await expect(update(made.id, { apiKeyHeader })).rejects.toMatchObject({
      code: "BAD_USER_INPUT",
      details: { fields: [{ path: "input.apiKey", code: "required" }] },
    });
  expect(await update(made.id, { apiKeyHeader: "Api-Key" })).toMatchObject({ hasKey: true, apiKeyHeader: "Api-Key" });
  expect(await keyIn(made)).toBe("sk-own");
  expect(await update(made.id, { apiKeyHeader: null, apiKey: "sk-two" })).toMatchObject({ apiKeyHeader: null });
  await update(made.id, { apiKey: null });
  expect(await update(made.id, { apiKeyHeader: "x-key" })).toMatchObject({ hasKey: false, apiKeyHeader: "x-key" });
});

test("a key goes in the header of another protocol only if it is given again", async () => {
  const { id } = await create({ name: "protocol", apiKey: "sk-own" });
  for (const changes of [
    { provider: "anthropic" },
    { provider: "google" },
    { apiKeyHeader: "Authorization" },
    { apiKeyHeader: "x-api-key", provider: "anthropic" },
  ] as const)
    await expect(update(id, changes)).rejects.toMatchObject({
      code: "BAD_USER_INPUT",
      details: { fields: [{ path: "input.apiKey", code: "required" }] },
    });
  // The same header with the same server.
  expect(await update(id, { provider: "mistral" })).toMatchObject({ hasKey: true, provider: "mistral" });
  expect(await update(id, { provider: "anthropic", apiKey: "sk-two" })).toMatchObject({ provider: "anthropic" });
  await update(id, { apiKeyHeader: "x-own", apiKey: "sk-two" });
  expect(await update(id, { provider: "google" })).toMatchObject({ hasKey: true, provider: "google" });
});

test("a project has one default, the last that was made it, also when many are made it at once", async () => {
  const project = await projectOf("defaults");
  const made = await create({ projectId: project, name: "one", isDefault: true });
  expect(await defaults(project)).toEqual(["one"]);
  const two = await create({ projectId: project, name: "two", isDefault: true });
  expect(await defaults(project)).toEqual(["two"]);
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      index % 2 === 0
        ? update(index % 4 === 0 ? made.id : two.id, { isDefault: true })
        : create({ projectId: project, name: `more${index}`, isDefault: true }),
    ),
  );
  expect(await defaults(project)).toHaveLength(1);
  expect(await defaults(projectId)).toEqual([]);
});

test("a name is taken once in a project", async () => {
  const project = await projectOf("names");
  const made = await create({ projectId: project, name: "same" });
  const other = await create({ projectId: project, name: "other" });
  for (const again of [() => create({ projectId: project, name: "same" }), () => update(other.id, { name: "same" })])
    await expect(again()).rejects.toMatchObject({
      code: "CONFLICT",
      details: { reason: "name_taken" },
      message: "the project already has a model connection named same",
    });
  await deleteModelConnection(models, caller, made.id);
  expect(await update(other.id, { name: "same" })).toMatchObject({ name: "same" });
});

test("a project has its 50 and not one more", async () => {
  const project = await projectOf("many");
  await Promise.allSettled(
    Array.from({ length: LIMITS.modelConnectionsPerProject + 5 }, (_, index) =>
      create({ projectId: project, name: `m${index}` }),
    ),
  );
  expect(await listModelConnections(models, caller.organizationId, project)).toHaveLength(50);
  await expect(create({ projectId: project, name: "one-more" })).rejects.toMatchObject({
    code: "CONFLICT",
    details: { reason: "limit_reached" },
  });
});

const PRICES = { inputPerMillion: 1, outputPerMillion: 1, cachedInputPerMillion: 1, currency: "USD" };
const NO_LIMITS = { concurrency: null, tokensPerDay: null, costPerDay: null };

test.each<[string, string, Partial<Request>]>([
  ["name", "invalid", { name: "two words" }],
  ["name", "invalid", { name: "" }],
  ["name", "invalid", { name: "a".repeat(LIMITS.identifierCharacters + 1) }],
  ["model", "required", { model: "  " }],
  ["model", "invalid", { model: "a\u0000b" }],
  ["baseUrl", "required", { baseUrl: null }],
  ["baseUrl", "invalid", { baseUrl: "" }],
  ["baseUrl", "invalid", { baseUrl: "ftp://localhost/v1" }],
  ["baseUrl", "invalid", { baseUrl: "https://user:word@localhost/v1" }],
  ["baseUrl", "invalid", { baseUrl: "https://localhost/v1#key" }],
  ["baseUrl", "invalid", { baseUrl: "https://localhost/\u0000/v1" }],
  ["baseUrl", "too_long", { baseUrl: `https://localhost/${"a".repeat(LIMITS.outboundUrlCharacters)}` }],
  ["apiKey", "required", { apiKey: "" }],
  ["apiKey", "invalid", { apiKey: "sk planted" }],
  ["apiKey", "invalid", { apiKey: "sk-planted\r\nx-more: 1" }],
  ["apiKey", "too_long", { apiKey: "k".repeat(LIMITS.modelKeyCharacters + 1) }],
  ["apiKeyHeader", "too_long", { apiKeyHeader: "k".repeat(LIMITS.modelKeyHeaderCharacters + 1) }],
  ...[
    "",
    "api key",
    "api-key:",
    "api-key\r\nhost",
    "schlüssel",
    "Host",
    "connection",
    "Proxy-Authorization",
    "content-type",
    "Content-Length",
    "accept-encoding",
    "Transfer-Encoding",
    "user-agent",
    "Idempotency-Key",
    "cookie",
    "X-Forwarded-For",
  ].map((apiKeyHeader): [string, string, Partial<Request>] => ["apiKeyHeader", "invalid", { apiKeyHeader }]),
  ["prices.currency", "invalid", { prices: { ...PRICES, currency: "euro" } }],
  ["prices.inputPerMillion", "out_of_range", { prices: { ...PRICES, inputPerMillion: -1 } }],
  [
    "prices.outputPerMillion",
    "out_of_range",
    { prices: { ...PRICES, outputPerMillion: LIMITS.modelPricePerMillion + 1 } },
  ],
  ["prices.cachedInputPerMillion", "out_of_range", { prices: { ...PRICES, cachedInputPerMillion: Infinity } }],
  ["limits.concurrency", "out_of_range", { limits: { ...NO_LIMITS, concurrency: 0 } }],
  ["limits.concurrency", "out_of_range", { limits: { ...NO_LIMITS, concurrency: LIMITS.modelConcurrency + 1 } }],
  ["limits.tokensPerDay", "out_of_range", { limits: { ...NO_LIMITS, tokensPerDay: -1 } }],
  ["limits.tokensPerDay", "out_of_range", { limits: { ...NO_LIMITS, tokensPerDay: 1.5 } }],
  ["limits.costPerDay", "invalid", { limits: { ...NO_LIMITS, costPerDay: 1 } }],
  ["limits.costPerDay", "out_of_range", { limits: { ...NO_LIMITS, costPerDay: LIMITS.modelDayMost * 2 } }],
])("what is wrong with %s is %s", async (field, code, own) => {
  const error: any = await create({ name: "wrong", ...own }).catch((refusal: unknown) => refusal);
  expect(error).toMatchObject({ code: "BAD_USER_INPUT", details: { fields: [{ path: `input.${field}`, code }] } });
  expect(JSON.stringify([error.message, error.details])).not.toContain("planted");
});

test("what is at its edge is taken", async () => {
  const edge = {
    name: `e${"a".repeat(LIMITS.identifierCharacters - 1)}`,
    apiKey: "k".repeat(LIMITS.modelKeyCharacters),
    apiKeyHeader: "k".repeat(LIMITS.modelKeyHeaderCharacters),
    prices: { ...PRICES, inputPerMillion: LIMITS.modelPricePerMillion, outputPerMillion: 0 },
    limits: {
      concurrency: LIMITS.modelConcurrency,
      tokensPerDay: LIMITS.modelDayMost,
      costPerDay: LIMITS.modelDayMost,
    },
  };
  expect(await create(edge)).toMatchObject({ prices: edge.prices, limits: edge.limits });
});

test("a rotation seals the keys again; one that was copied to another row stops it", async () => {
  const [own, copy] = [
    await create({ name: "own", apiKey: "sk-own" }),
    await create({ name: "copy", apiKey: "sk-copy" }),
  ];
  const rotate = (): Promise<unknown> =>
    rotateKey(database, models.clock, { modelKeys: sealedModelKeys(models.sealer) });
  const sealed = async (): Promise<unknown> =>
    (await database.query("select sealed_key from model_connections where id = $1", [own.id]))[0]!["sealed_key"];
  const before = await sealed();
  await rotate();
  expect(await sealed()).not.toBe(before);
  expect([await keyIn(own), await keyIn(copy)]).toEqual(["sk-own", "sk-copy"]);
  await database.query(
    `update model_connections set sealed_key = (select sealed_key from model_connections where id = $1) where id = $2`,
    [own.id, copy.id],
  );
  expect(await keyIn(copy)).toBeUndefined();
  await expect(rotate()).rejects.toThrow("the key of the model connection copy does not open");
  await deleteModelConnection(models, caller, copy.id);
  await expect(deleteModelConnection(models, caller, newId())).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("a call opens no other key than its own, and that once", async () => {
  const project = { organizationId: caller.organizationId, projectId: await projectOf("keys") };
  for (const name of ["one", "two", "three"]) await create({ ...project, name, apiKey: `sk-${name}` });
  const opened: string[] = [];
  const { sealer } = models;
  const open: typeof sealer.open = (sealed, owner) => (opened.push(owner.name), sealer.open(sealed, owner));
  const counting = { ...models, sealer: { ...sealer, open } };
  const found = await Promise.all([1, 2].map(() => findConnection(counting, project, "two")));
  expect(found.map((one) => one?.apiKey)).toEqual(["sk-two", "sk-two"]);
  expect(opened).toHaveLength(1);
});
