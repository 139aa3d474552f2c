import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OperatorError } from "../../lib/errors.ts";
import { createApiKey } from "../api-keys/create-api-key.ts";
import { ALL_SCOPES } from "../scopes.ts";
import { openAuth, PASSWORD, startDatabases, type Databases, type TestAuth } from "../handle/auth.testsuite.ts";
import type { Caller } from "../caller.ts";
import { login } from "../sessions/login.ts";
import { createAdmin, createFirstOwner, setup, type FirstOwner } from "./setup.ts";
import { isEmpty } from "./users.ts";

const owner: FirstOwner = { organization: " Acme ", name: "Ada", email: "Ada@Example.com", password: PASSWORD };
const from = { address: "192.0.2.1", client: "ui" } as const;

const stack = new AsyncDisposableStack();
let databases: Databases;
const openings: AsyncDisposable[] = [];

beforeAll(async () => {
  databases = stack.use(await startDatabases());
});
afterAll(async () => {
  for (const one of openings.toReversed()) await one[Symbol.asyncDispose]();
  await stack.disposeAsync();
});

/** Two processes on one empty database. */
async function emptyInstallation(options: Parameters<typeof openAuth>[1] = {}): Promise<[TestAuth, TestAuth]> {
  const database = await databases.open();
  const processes: [TestAuth, TestAuth] = [openAuth(database, options), openAuth(database, options)];
  openings.push(database, ...processes);
  return processes;
}

describe("setup", () => {
  test("makes the first organization and its owner, once", async () => {
    const made: Caller[] = [];
    const [auth] = await emptyInstallation({
      defaultPlan: "pro",
      afterSetup: async (caller) => void made.push(caller),
    });
    expect(await isEmpty(auth)).toBe(true);
    const { token } = auth.setupLink.issue();
    const { organization, user, caller } = await setup(auth, { ...owner, token }, from);
    expect(organization).toMatchObject({ name: "Acme", plan: "pro", requestsPerMinute: null });
    expect(user).toMatchObject({ name: "Ada", email: "Ada@Example.com" });
    expect(made).toEqual([{ ...caller, from: { address: null, note: "demo" } }]);
    expect(await isEmpty(auth)).toBe(false);
    expect((await login(auth, { email: "ada@example.com", password: PASSWORD }, from)).organizationId).toBe(
      organization.id,
    );
    expect((await createApiKey(auth, caller, { name: "first", scopes: ALL_SCOPES })).key.createdBy).toEqual({
      kind: "user",
      id: user.id,
    });
    await expect(setup(auth, { ...owner, token }, from)).rejects.toMatchObject({ code: "CONFLICT" });
    expect(auth.setupLink.fits(token)).toBe(false);
  });

  test("of twenty at once over two processes one gets through", async () => {
    let made = 0;
    const [one, two] = await emptyInstallation({ afterSetup: async () => void made++ });
    const tokens = [one.setupLink.issue().token, two.setupLink.issue().token] as const;
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) =>
        setup([one, two][index % 2]!, { ...owner, email: `ada${index}@example.com`, token: tokens[index % 2]! }, from),
      ),
    );
    const codes = outcomes.map((outcome) =>
      outcome.status === "fulfilled" ? "made" : (outcome.reason as { code: string }).code,
    );
    expect(codes.toSorted()).toEqual([...Array(19).fill("CONFLICT"), "made"]);
    expect(made).toBe(1);
    const [rows] = await one.database.query(
      "select (select count(*) from users) as users, (select count(*) from organizations) as organizations",
    );
    expect(rows).toEqual({ users: 1, organizations: 1 });
  });

  test("of two whose statements run at the same moment one gets through", async () => {
    const [one, two] = await emptyInstallation();
    const { database } = one;
    const waiting = async (): Promise<unknown> =>
      (
        await database.query(
          "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        )
      ).length;
    const emails = ["ada@example.com", "grace@example.com"];
    let both: Promise<PromiseSettledResult<unknown>[]> | undefined;
    // Rows of the same e-mails, never committed, hold each statement in its middle until they are gone.
    const held = database.transaction(async (query) => {
      await query(
        `insert into users (id, email, name, password_hash, created_at)
         select gen_random_uuid(), email, '', '', to_timestamp(0) from unnest($1::text[]) email`,
        [emails],
      );
      both = Promise.allSettled(
        [one, two].map((auth, index) => createFirstOwner(auth, { ...owner, email: emails[index]! })),
      );
      await expect.poll(waiting).toBe(2);
      throw new Error("rolled back");
    });
    await expect(held).rejects.toThrow("rolled back");
    const outcomes = await both!;
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(outcomes.find((outcome) => outcome.status === "rejected")!.reason).toMatchObject({ code: "CONFLICT" });
  });

  test("only the token of the link that was printed last fits, for half an hour", async () => {
    const [auth] = await emptyInstallation();
    const older = auth.setupLink.issue();
    const { token, expiresAt } = auth.setupLink.issue();
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(expiresAt).toBe(auth.clock.now() + 1_800_000);
    for (const wrong of ["", older.token, `${token}x`, token.slice(1), "x".repeat(1_000_000), "\u0000"]) {
      await expect(setup(auth, { ...owner, token: wrong }, from)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    }
    auth.clock.pass(1_800_000);
    await expect(setup(auth, { ...owner, token }, from)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    expect(await isEmpty(auth)).toBe(true);
  });

  test("names every bad field, and the link stays good", async () => {
    const [auth] = await emptyInstallation();
    const { token } = auth.setupLink.issue();
    const bad = { organization: "", name: "a\u0000", email: "nobody", password: "short", token };
    await expect(setup(auth, bad, from)).rejects.toMatchObject({
      code: "BAD_USER_INPUT",
      details: { fields: ["organization", "name", "email", "password"].map((name) => ({ path: `input.${name}` })) },
    });
    await setup(auth, { ...owner, token }, from);
  });

  test("stands when what follows it fails", async () => {
    const [auth] = await emptyInstallation({ afterSetup: () => Promise.reject(new Error("no demo")) });
    await createFirstOwner(auth, owner);
    await login(auth, { email: owner.email, password: PASSWORD }, from);
  });
});

test("ADMIN_EMAIL makes its owner on an empty database only", async () => {
  const [auth, other] = await emptyInstallation();
  const admin = { email: "root@example.com", password: PASSWORD };
  const outcomes = await Promise.all([createAdmin(auth, admin), createAdmin(other, admin)]);
  expect(outcomes.filter((one) => one !== undefined)).toHaveLength(1);
  expect(await createAdmin(auth, { ...admin, email: "late@example.com" })).toBeUndefined();
  await login(auth, admin, from);
  await expect(createAdmin((await emptyInstallation())[0], { ...admin, password: "short" })).rejects.toThrow(
    new OperatorError(
      "ADMIN_EMAIL and ADMIN_PASSWORD cannot be used to create an owner: password must have at least 10 characters",
    ),
  );
});
