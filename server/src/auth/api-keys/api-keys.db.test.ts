import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Database } from "../../storage/database.ts";
import { listApiKeys, readApiKey, revokeApiKey } from "./api-keys.ts";
import { isStillValid, makeOwner, openAuth, startDatabases, type TestAuth } from "../handle/auth.testsuite.ts";
import type { Acting } from "../caller.ts";
import { authenticate, recallCaller } from "../admission/authenticate.ts";
import { API_KEY_PRESETS } from "./api-key-presets.ts";
import { createApiKey } from "./create-api-key.ts";
import { lockRights } from "../present-rights.ts";
import { ALL_SCOPES } from "../scopes.ts";

const ADDRESS = "192.0.2.1";

const stack = new AsyncDisposableStack();
let database: Database;
let auth: TestAuth;

beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
  auth = stack.use(openAuth(database));
});
afterAll(() => stack.disposeAsync());

test("a key is its maker in its organization with all scopes, and only its hash is kept", async () => {
  const { caller } = await makeOwner(auth);
  const { key, secret } = await createApiKey(auth, caller, { name: "  Deploys ", scopes: ALL_SCOPES });
  expect(key).toEqual({
    id: key.id,
    name: "Deploys",
    hint: secret.slice(-4),
    createdBy: { kind: "user", id: caller.user.id },
    scopes: [...ALL_SCOPES],
    projectIds: null,
    agentIds: null,
    createdAt: new Date(auth.clock.now()),
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
  });
  expect(await authenticate(auth, `bearer  ${secret}`, ADDRESS)).toEqual({
    organizationId: caller.organizationId,
    user: caller.user,
    credential: { kind: "key", keyId: key.id },
    scopes: new Set(ALL_SCOPES),
    reach: undefined,
  });
  const [row] = await database.query("select * from api_keys where organization_id = $1", [caller.organizationId]);
  expect(JSON.stringify(row)).not.toContain(secret.slice(8, -4));
});

test("a revoked key is refused at once here, and within 5 s in another process", async () => {
  const { caller } = await makeOwner(auth);
  const { key, secret } = await createApiKey(auth, caller, { name: "key", scopes: ALL_SCOPES });
  await using other = openAuth(database);
  const [here, there] = [
    (await authenticate(auth, `Bearer ${secret}`, ADDRESS))!,
    (await authenticate(other, `Bearer ${secret}`, ADDRESS))!,
  ];
  const revoked = await revokeApiKey(auth, caller, key.id);
  expect(revoked.revokedAt).toEqual(new Date(auth.clock.now()));
  expect(recallCaller(auth, `Bearer ${secret}`)).toBeUndefined();
  await expect(authenticate(auth, `Bearer ${secret}`, ADDRESS)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  expect(await isStillValid(auth, here)).toBe(false);
  other.clock.pass(5_000);
  expect(await isStillValid(other, there)).toBe(false);
  await expect(authenticate(other, `Bearer ${secret}`, ADDRESS)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  auth.clock.pass(60_000);
  expect((await revokeApiKey(auth, caller, key.id)).revokedAt).toEqual(revoked.revokedAt);
});

test("a key ends when it said, to the millisecond, also from memory", async () => {
  const { caller } = await makeOwner(auth);
  const expiresAt = new Date(auth.clock.now() + 1_000);
  const { secret } = await createApiKey(auth, caller, { name: "key", scopes: ALL_SCOPES, expiresAt });
  const known = (await authenticate(auth, `Bearer ${secret}`, ADDRESS))!;
  expect(known.credential).toMatchObject({ expiresAt: expiresAt.getTime() });
  auth.clock.pass(999);
  expect(await isStillValid(auth, known)).toBe(true);
  expect(recallCaller(auth, `Bearer ${secret}`)).toEqual(known);
  auth.clock.pass(1);
  expect(await isStillValid(auth, known)).toBe(false);
  expect(recallCaller(auth, `Bearer ${secret}`)).toBeUndefined();
  await expect(authenticate(auth, `Bearer ${secret}`, ADDRESS)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
});

test("a key outlives its maker's membership", async () => {
  const { caller } = await makeOwner(auth);
  const { secret } = await createApiKey(auth, caller, { name: "key", scopes: ALL_SCOPES });
  await database.query("delete from members where organization_id = $1", [caller.organizationId]);
  expect((await authenticate(auth, `Bearer ${secret}`, ADDRESS))!.user).toEqual(caller.user);
});

test("another organization's key is NOT_FOUND like one that is not there", async () => {
  const [ada, grace] = [(await makeOwner(auth)).caller, (await makeOwner(auth)).caller];
  const { key } = await createApiKey(auth, ada, { name: "key", scopes: ALL_SCOPES });
  const refusals: unknown[] = [];
  for (const id of [key.id, newId<"apiKey">()]) {
    refusals.push(await revokeApiKey(auth, grace, id).catch((error: unknown) => error));
  }
  expect(refusals[0]).toEqual(refusals[1]);
  expect(refusals[0]).toMatchObject({ code: "NOT_FOUND", message: "API key not found" });
  expect(await readApiKey(auth, grace.organizationId, key.id)).toBeUndefined();
  expect(await readApiKey(auth, ada.organizationId, key.id)).toEqual(key);
  expect((await listApiKeys(auth, grace, { first: 10 })).items).toEqual([]);
});

test("pages, newest first", async () => {
  const { caller } = await makeOwner(auth);
  for (const name of ["a", "b", "c"]) await createApiKey(auth, caller, { name, scopes: ALL_SCOPES });
  const one = await listApiKeys(auth, caller, { first: 2 });
  expect([one.items.map(({ name }) => name), one.hasNextPage]).toEqual([["c", "b"], true]);
  const two = await listApiKeys(auth, caller, { first: 2, after: one.items[1]!.id });
  expect([two.items.map(({ name }) => name), two.hasNextPage]).toEqual([["a"], false]);
  for (const first of [0, -1, LIMITS.pageSize + 1]) {
    expect(() => listApiKeys(auth, caller, { first })).toThrow(expect.objectContaining({ code: "BAD_USER_INPUT" }));
  }
});

test("bad names and times are refused by field", async () => {
  const { caller } = await makeOwner(auth);
  for (const name of ["", "a\u0000", "x".repeat(201)]) {
    await expect(createApiKey(auth, caller, { name, scopes: ALL_SCOPES })).rejects.toMatchObject({
      code: "BAD_USER_INPUT",
      details: { fields: [{ path: "input.name" }] },
    });
  }
  for (const expiresAt of [new Date(auth.clock.now()), new Date(0), new Date(Number.NaN)]) {
    await expect(createApiKey(auth, caller, { name: "key", scopes: ALL_SCOPES, expiresAt })).rejects.toMatchObject({
      code: "BAD_USER_INPUT",
      details: { fields: [{ path: "input.expiresAt" }] },
    });
  }
});

test("an organization has at most 1,000 live keys", async () => {
  const { caller } = await makeOwner(auth);
  await database.query(
    `insert into api_keys (organization_id, id, user_id, name, hint, secret_hash, scopes, created_at)
     select $1::uuid, gen_random_uuid(), $2, 'key', 'hint', sha256(convert_to($1::uuid::text || number, 'UTF8')), '{}', $4
       from generate_series(1, $3::int) number`,
    [caller.organizationId, caller.user.id, LIMITS.apiKeysPerOrganization - 1, new Date(auth.clock.now())],
  );
  const { key } = await createApiKey(auth, caller, { name: "last", scopes: ALL_SCOPES });
  await expect(createApiKey(auth, caller, { name: "over", scopes: ALL_SCOPES })).rejects.toMatchObject({
    code: "CONFLICT",
    details: { reason: "limit_reached" },
    message: "an organization has at most 1000 API keys: revoke one first",
  });
  await revokeApiKey(auth, caller, key.id);
  await createApiKey(auth, caller, { name: "again", scopes: ALL_SCOPES });
});

test("the last use is written together a second later, at most once a minute, and at the end", async () => {
  const { caller } = await makeOwner(auth);
  const [one, two] = [
    await createApiKey(auth, caller, { name: "1", scopes: ALL_SCOPES }),
    await createApiKey(auth, caller, { name: "2", scopes: ALL_SCOPES }),
  ];
  const own = openAuth(database);
  own.clock.pass(auth.clock.now() - own.clock.now());
  const usedAt = async (id = one.key.id): Promise<number | undefined> =>
    (await readApiKey(own, caller.organizationId, id))!.lastUsedAt?.getTime();
  const writtenBy = async (at: number | undefined, id = one.key.id): Promise<void> => {
    await expect.poll(() => usedAt(id)).toBe(at);
  };
  const start = own.clock.now();
  await authenticate(own, `Bearer ${one.secret}`, ADDRESS);
  own.clock.pass(500);
  await authenticate(own, `Bearer ${two.secret}`, ADDRESS);
  expect([await usedAt(), await usedAt(two.key.id)]).toEqual([undefined, undefined]);
  own.clock.pass(500);
  await writtenBy(start);
  await writtenBy(start + 500, two.key.id);
  own.clock.pass(58_000);
  await authenticate(own, `Bearer ${one.secret}`, ADDRESS);
  own.clock.pass(999);
  await authenticate(own, `Bearer ${one.secret}`, ADDRESS);
  expect(await usedAt()).toBe(start);
  own.clock.pass(1);
  expect(recallCaller(own, `Bearer ${one.secret}`)).toBeDefined();
  await own[Symbol.asyncDispose]();
  await writtenBy(start + 60_000);
});

test("a key that is refused was not used, also on a connection that has had it before", async () => {
  const { caller } = await makeOwner(auth);
  const { key, secret } = await createApiKey(auth, caller, { name: "1", scopes: ALL_SCOPES });
  const own = openAuth(database);
  const authorization = `Bearer ${secret}`;
  const known = { authorization, caller: (await authenticate(own, authorization, ADDRESS))! };
  own.clock.pass(1_000);
  await expect.poll(async () => (await readApiKey(own, caller.organizationId, key.id))!.lastUsedAt).not.toBeNull();
  const { lastUsedAt } = (await readApiKey(own, caller.organizationId, key.id))!;
  await revokeApiKey(own, caller, key.id);
  own.clock.pass(120_000);
  expect(recallCaller(own, authorization, known)).toBeUndefined();
  await own[Symbol.asyncDispose]();
  expect((await readApiKey(auth, caller.organizationId, key.id))!.lastUsedAt).toEqual(lastUsedAt);
});

test("a warm key costs no query", async () => {
  const { caller } = await makeOwner(auth);
  const { secret } = await createApiKey(auth, caller, { name: "key", scopes: ALL_SCOPES });
  const reads: string[] = [];
  const counted: Database = { ...database, query: (text, values) => (reads.push(text), database.query(text, values)) };
  await using own = openAuth(counted);
  for (let time = 0; time < 1_000; time++) await authenticate(own, `Bearer ${secret}`, ADDRESS);
  expect(reads).toHaveLength(2);
});

describe("a key makes none that may more than itself", () => {
  test("it names no scope that it lacks, and no end after its own", async () => {
    const { caller } = await makeOwner(auth);
    const now = auth.clock.now();
    const at = (ms: number): Date => new Date(now + ms);
    const { secret } = await createApiKey(auth, caller, {
      name: "key",
      scopes: ["admin", "runs:read"],
      expiresAt: at(9_000),
    });
    const key = (await authenticate(auth, `Bearer ${secret}`, ADDRESS))!;
    const make = (scopes: readonly string[], expiresAt?: Date): Promise<unknown> =>
      createApiKey(auth, { ...key, from: caller.from }, { name: "another", scopes, expiresAt });
    await expect(make(["runs:start"], at(9_000))).rejects.toMatchObject({
      code: "FORBIDDEN",
      details: { scope: "runs:start" },
    });
    const tooLong = {
      code: "BAD_USER_INPUT",
      message: `expiresAt must be at most ${at(9_000).toISOString()}, when the API key that creates it expires`,
    };
    await expect(make(["runs:read"])).rejects.toMatchObject({
      ...tooLong,
      details: { fields: [{ path: "input.expiresAt", code: "required" }] },
    });
    await expect(make(["runs:read"], at(9_001))).rejects.toMatchObject({
      ...tooLong,
      details: { fields: [{ code: "out_of_range" }] },
    });
    await expect(make(["runs:read"], at(9_000))).resolves.toMatchObject({ key: { expiresAt: at(9_000) } });
    // One without an end, and a session, may make one without an end.
    await expect(createApiKey(auth, caller, { name: "another", scopes: ["admin"] })).resolves.toMatchObject({
      key: { expiresAt: null },
    });
  });

  test("a narrowed one never has admin, whatever the code writes", async () => {
    const { caller } = await makeOwner(auth);
    const { key } = await createApiKey(auth, caller, { name: "key", scopes: ["admin"] });
    const narrow = "update api_keys set agent_ids = $3 where organization_id = $1 and id = $2";
    for (const agentIds of [[newId()], []])
      await expect(database.query(narrow, [caller.organizationId, key.id, agentIds])).rejects.toThrow(
        /violates check constraint/,
      );
  });
});

test("anyone who was demoted, removed or revoked a moment ago makes none, though the process does not know it yet", async () => {
  const { caller } = await makeOwner(auth);
  const { organizationId, user } = caller;
  const { key, secret } = await createApiKey(auth, caller, { name: "key", scopes: ["admin", "runs:read"] });
  const byKey = { ...(await authenticate(auth, `Bearer ${secret}`, ADDRESS))!, from: caller.from };
  const make = (by: Acting): Promise<unknown> => createApiKey(auth, by, { name: "another", scopes: ["runs:read"] });
  await expect(make(byKey)).resolves.toBeDefined();
  await revokeApiKey(auth, caller, key.id);
  await expect(make(byKey)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  const mine = [organizationId, user.id];
  await database.query("update members set role = 'editor' where organization_id = $1 and user_id = $2", mine);
  await expect(make(caller)).rejects.toMatchObject({ code: "FORBIDDEN", details: { scope: "admin" } });
  await database.query("delete from members where organization_id = $1 and user_id = $2", mine);
  await expect(make(caller)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
});

test("a key that is being made is waited for by who revokes its maker", async () => {
  const { caller } = await makeOwner(auth);
  const { key, secret } = await createApiKey(auth, caller, { name: "key", scopes: ["admin"] });
  const byKey = { ...(await authenticate(auth, `Bearer ${secret}`, ADDRESS))!, from: caller.from };
  const [looked, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const made = database.transaction(async (query) => {
    await lockRights(query, byKey);
    looked.resolve();
    await goOn.promise;
  });
  await looked.promise;
  const order: string[] = [];
  const revoked = revokeApiKey(auth, caller, key.id).then(() => order.push("revoked"));
  const waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await expect.poll(async () => (await database.query(waiting)).length).toBe(1);
  order.push("made");
  goOn.resolve();
  await Promise.all([made, revoked]);
  expect(order).toEqual(["made", "revoked"]);
});

test("each preset's scopes are taken", async () => {
  const { caller } = await makeOwner(auth);
  for (const { id, scopes, needsAgent } of API_KEY_PRESETS) {
    expect((await createApiKey(auth, caller, { name: id, scopes })).key.scopes, id).toEqual([...scopes]);
    expect(needsAgent && (scopes as readonly string[]).includes("admin")).toBe(false);
  }
});
