import { afterAll, beforeAll, expect, test } from "vitest";
import { openAuth, makeOwner, quiet, startDatabases, type Databases } from "../auth/handle/auth.testsuite.ts";
import type { Acting } from "../auth/caller.ts";
import { secretKeys } from "../auth/tokens/secret-key.ts";
import { newId, type ProjectId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { createProject } from "../projects/projects.ts";
import type { Database } from "../storage/database.ts";
import { deleteSecret } from "./delete-secret.ts";
import { listSecrets } from "./list-secrets.ts";
import { readValues } from "./read-values.ts";
import { rotateKey, sealedSecrets } from "./rotate-key.ts";
import { createSecrets, type Secrets } from "./secrets.ts";
import { setSecret } from "./set-secret.ts";

const stack = new AsyncDisposableStack();
let databases: Databases;
let database: Database;
let auth: ReturnType<typeof openAuth>;
let secrets: Secrets;
let caller: Acting;
let projectId: ProjectId;

/** As another process on the same database has it. */
const open = (key = 3): Secrets =>
  createSecrets({ database, clock: auth.clock, log: quiet, derive: secretKeys(Buffer.alloc(32, key)).derive });

const projectOf = async (owner: Acting, handle: string): Promise<ProjectId> =>
  (await createProject(auth, owner, { handle, name: handle })).id;
const set = (name: string, value: string, project = projectId) =>
  setSecret(secrets, caller, { projectId: project, name, value });
const read = async (name: string, by = open(), project = projectId): Promise<string | undefined> =>
  (await readValues(by, caller.organizationId, project, [name])).get(name);
const rotate = (on: Database) => rotateKey(on, secrets.clock, { secrets: sealedSecrets(secrets.sealer) });
const rows = (): Promise<any[]> => database.query("select id, name, sealed, project_id from secrets order by id");
const kidOf = ({ sealed }: { sealed: string }): string =>
  JSON.parse(Buffer.from(sealed.split(".")[0]!, "base64url").toString()).kid;

beforeAll(async () => {
  databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
  auth = openAuth(database);
  secrets = open();
  ({ caller } = await makeOwner(auth));
  projectId = await projectOf(caller, "shop");
});
afterAll(() => stack.disposeAsync());

test("a value is read as it was set, by its project only, and its row says nothing of it", async () => {
  const value = "pässword \u{1F511}\n-----END-----\n";
  const secret = await set("first", value);
  expect(secret).toMatchObject({ name: "first", projectId, createdBy: { kind: "user", id: caller.user.id } });
  expect(await read("first")).toBe(value);
  const other = await projectOf(caller, "other");
  expect(await read("first", open(), other)).toBeUndefined();
  const stranger = (await makeOwner(auth)).caller;
  expect((await readValues(open(), stranger.organizationId, projectId, ["first"])).size).toBe(0);
  expect((await readValues(open(4), caller.organizationId, projectId, ["first"])).size).toBe(0);
  const [row] = await rows();
  for (const text of [value, "pässword", Buffer.from(value).toString("base64").slice(4, 16)])
    expect(JSON.stringify(row)).not.toContain(text);
});

test("a new value keeps the secret's id and maker; this process has it at once, another within 5 s", async () => {
  const other = open();
  const made = await set("changing", "one");
  expect([await read("changing", secrets), await read("changing", other)]).toEqual(["one", "one"]);
  auth.clock.pass(1_000);
  const changed = await set("changing", "two");
  expect(changed).toMatchObject({ id: made.id, createdAt: made.createdAt });
  expect(changed.updatedAt.getTime()).toBe(made.updatedAt.getTime() + 1_000);
  expect([await read("changing", secrets), await read("changing", other)]).toEqual(["two", "one"]);
  auth.clock.pass(5_000);
  expect(await read("changing", other)).toBe("two");
  await deleteSecret(secrets, caller, made.id);
  expect(await read("changing", secrets)).toBeUndefined();
  await expect(deleteSecret(secrets, caller, made.id)).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("a change is read again by its own project alone", async () => {
  const others = await projectOf(caller, "beside");
  for (const project of [projectId, others]) await set("shared", "one", project);
  const here = open();
  const both = async () => [await read("shared", here), await read("shared", here, others)];
  expect(await both()).toEqual(["one", "one"]);
  await database.query("update secrets set sealed = 'changed behind it' where name = 'shared'");
  const secret = await setSecret(here, caller, { projectId, name: "shared", value: "two" });
  expect(await both()).toEqual(["two", "one"]);
  await deleteSecret(here, caller, secret.id);
  expect(await both()).toEqual([undefined, "one"]);
  await database.query("delete from secrets where name = 'shared'");
});

test("a value that was copied to another row, or changed, does not open", async () => {
  const [own, copy] = [await set("own", "mine"), await set("copy", "theirs")];
  await database.query(
    "update secrets set sealed = (select sealed from secrets where organization_id = $1 and id = $2) where organization_id = $1 and id = $3",
    [caller.organizationId, own.id, copy.id],
  );
  expect(await read("copy")).toBeUndefined();
  const elsewhere = await projectOf(caller, "elsewhere");
  const there = await set("own", "theirs", elsewhere);
  await database.query(
    "update secrets set sealed = (select sealed from secrets where organization_id = $1 and id = $2) where organization_id = $1 and id = $3",
    [caller.organizationId, own.id, there.id],
  );
  expect(await read("own", open(), elsewhere)).toBeUndefined();
  await deleteSecret(secrets, caller, there.id);
  expect(await read("own")).toBe("mine");
  await database.query("update secrets set name = 'renamed' where organization_id = $1 and id = $2", [
    caller.organizationId,
    own.id,
  ]);
  expect(await read("renamed")).toBeUndefined();
  for (const { id } of [own, copy]) await deleteSecret(secrets, caller, id);
});

test("names and values: what fits passes, one more is refused with a sentence that has no value", async () => {
  const most = "é".repeat(LIMITS.secretBytes / 2);
  await set("a".repeat(63), most);
  await set("object", JSON.stringify({ basic: Array.from({ length: LIMITS.secretTexts }, () => "text"), n: 1 }));
  expect(await read("a".repeat(63))).toBe(most);
  for (const name of ["", "a".repeat(64), "1a", "a b", "a/b", "ä", "__proto__", "a\n"])
    await expect(set(name, "value")).rejects.toMatchObject({
      code: "BAD_USER_INPUT",
      details: { fields: [{ path: "input.name", code: "invalid" }] },
    });
  for (const [value, code] of [
    ["", "required"],
    [`${most}x`, "too_large"],
    [JSON.stringify({ basic: Array.from({ length: LIMITS.secretTexts + 1 }, () => "planted") }), "too_many"],
    ["planted\0", "invalid"],
    ["planted\ud800", "invalid"],
  ] as const) {
    const error: any = await set("name", value).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "BAD_USER_INPUT", details: { fields: [{ path: "input.value", code }] } });
    expect(JSON.stringify([error.message, error.details])).not.toContain("planted");
  }
  await expect(setSecret(secrets, caller, { projectId: newId(), name: "n", value: "v" })).rejects.toMatchObject({
    code: "NOT_FOUND",
  });
});

test("a project has its 200 secrets and not one more, also when they are set at once; a full one takes new values", async () => {
  const full = await projectOf(caller, "full");
  await set("first", "value", full);
  await database.query(
    `insert into secrets select organization_id, gen_random_uuid(), project_id, 's' || n, sealed, created_by_kind,
        created_by_id, created_at, updated_by_kind, updated_by_id, updated_at
       from secrets, generate_series(2, $3) as n where organization_id = $1 and project_id = $2`,
    [caller.organizationId, full, LIMITS.secretsPerProject - 3],
  );
  const results = await Promise.allSettled(Array.from({ length: 8 }, (_, index) => set(`new${index}`, "value", full)));
  const refused = results.filter(({ status }) => status === "rejected");
  expect(refused).toHaveLength(5);
  for (const { reason } of refused as PromiseRejectedResult[])
    expect(reason).toMatchObject({
      code: "CONFLICT",
      details: { reason: "limit_reached" },
      message: "a project has at most 200 secrets: delete one first",
    });
  const { items } = await listSecrets(secrets, caller, { projectId: full, first: 1 });
  expect(await set(items[0]!.name, "again", full)).toMatchObject({ id: items[0]!.id });
  await database.query("delete from secrets where organization_id = $1 and project_id = $2", [
    caller.organizationId,
    full,
  ]);
});

test("rotating seals everything again while values are read and set; stopped in the middle it has changed nothing", async () => {
  await set("kept", "value");
  const before = await rows();
  // As a process that dies before it commits.
  const stopped = {
    ...database,
    transaction: (work: any) =>
      database.transaction(async (query) => {
        await work(query);
        throw new Error("killed");
      }),
  };
  await expect(rotate(stopped as Database)).rejects.toThrow("killed");
  expect(await rows()).toEqual(before);

  const rotating = rotate(database);
  const during = Array.from({ length: 20 }, (_, index) => set(`during${index}`, `value ${index}`));
  const readings = Array.from({ length: 20 }, () => read("kept"));
  await Promise.all([rotating, ...during]);
  expect(new Set(await Promise.all(readings))).toEqual(new Set(["value"]));
  expect((await rotating).secrets).toBeGreaterThanOrEqual(before.length);
  const after = await rows();
  const kids = new Set(after.map(kidOf));
  expect(kids.size).toBe(1);
  expect(before.map(kidOf).filter((kid) => kids.has(kid))).toEqual([]);
  expect(await read("kept")).toBe("value");
  expect(await read("during7")).toBe("value 7");
});

test("a value that does not open stops a rotation before anything has changed", async () => {
  const broken = await set("broken", "value");
  await database.query("update secrets set sealed = sealed || 'x' where organization_id = $1 and id = $2", [
    caller.organizationId,
    broken.id,
  ]);
  const before = await rows();
  await expect(rotate(database)).rejects.toThrow(/^the secret broken does not open/);
  expect(await rows()).toEqual(before);
});
