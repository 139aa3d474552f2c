import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newId } from "../../lib/ids.ts";
import { allOf } from "../../lib/reach.ts";
import type { Database } from "../../storage/database.ts";
import { makeOwner, openAuth, PASSWORD, startDatabases, type TestAuth } from "../handle/auth.testsuite.ts";
import { createOrganization } from "./create-organization.ts";
import { login } from "../sessions/login.ts";
import { findOrganizations, readOrganization, setPlan } from "./organizations.ts";
import { createProject, listProjects, readProject, readProjects } from "../../projects/projects.ts";
import { createUser, findUser, readMember, userNames } from "./users.ts";

const from = { address: "192.0.2.1", client: "api" } as const;

const stack = new AsyncDisposableStack();
let database: Database;
let auth: TestAuth;

beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
  auth = stack.use(openAuth(database, { defaultPlan: "starter" }));
});
afterAll(() => stack.disposeAsync());

describe("organizations", () => {
  test("a new owner without a password gets one that works", async () => {
    const made = await createOrganization(auth, { name: "Acme", owner: { email: "new@example.com" } });
    expect(made).toMatchObject({ organization: { name: "Acme", plan: "starter" }, owner: { name: "new" } });
    const signedIn = await login(auth, { email: "new@example.com", password: made.password! }, from);
    expect(signedIn.organizationId).toBe(made.organization.id);
    expect(await findOrganizations(auth, "Acme")).toEqual([made.organization]);
  });

  test("a known owner keeps name and password", async () => {
    const { email, caller } = await makeOwner(auth);
    const made = await createOrganization(auth, {
      name: "Beta",
      plan: "free",
      owner: { email: email.toUpperCase(), name: "X" },
    });
    expect(made.password).toBeUndefined();
    expect(made.owner).toMatchObject(caller.user);
    expect(made.organization.plan).toBe("free");
    await login(auth, { email, password: PASSWORD }, from);
  });

  test("two at once with one new owner make one user", async () => {
    const one = (): Promise<unknown> =>
      createOrganization(auth, { name: "Race", owner: { email: "race@example.com" } });
    const outcomes = await Promise.allSettled([one(), one(), one()]);
    for (const outcome of outcomes) {
      expect(outcome.status === "fulfilled" || (outcome.reason as { code: string }).code === "CONFLICT").toBe(true);
    }
    const [count] = await database.query("select count(*) from users where email = 'race@example.com'");
    expect(count).toEqual({ count: 1 });
    const made = outcomes.filter(({ status }) => status === "fulfilled").length;
    expect(await findOrganizations(auth, "Race")).toHaveLength(made);
  });

  test("the plan is stored, with a rate on Enterprise only", async () => {
    const { organizationId } = (await makeOwner(auth)).caller;
    expect(await setPlan(auth, organizationId, { plan: "enterprise", requestsPerMinute: 5_000 })).toMatchObject({
      plan: "enterprise",
      requestsPerMinute: 5_000,
    });
    await setPlan(auth, organizationId, { plan: "free" });
    expect(await readOrganization(auth, organizationId)).toMatchObject({ plan: "free", requestsPerMinute: null });
    const bad = [{ plan: "pro" as const, requestsPerMinute: 5 }, { plan: "gold" as "pro" }];
    const rates = [0, -1, 1.5, Number.NaN, 2 ** 31].map((requestsPerMinute) => ({
      plan: "enterprise" as const,
      requestsPerMinute,
    }));
    for (const change of [...bad, ...rates]) {
      await expect(setPlan(auth, organizationId, change)).rejects.toMatchObject({ code: "BAD_USER_INPUT" });
    }
    await expect(setPlan(auth, newId(), { plan: "free" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("users", () => {
  test("an e-mail is one user, in whatever case", async () => {
    const { organizationId } = (await makeOwner(auth)).caller;
    const user = { email: "Grace@Example.com", name: "Grace", password: PASSWORD, role: "viewer" } as const;
    const made = await createUser(auth, organizationId, user);
    expect(await findUser(auth, "gRACE@example.COM ")).toEqual(made);
    await expect(createUser(auth, organizationId, { ...user, email: "grace@example.com" })).rejects.toMatchObject({
      code: "CONFLICT",
    });
    expect(await findUser(auth, "grace\u0000@example.com")).toBeUndefined();
    expect(await userNames(auth, organizationId, [made.id, newId()])).toEqual(new Map([[made.id, "Grace"]]));
  });

  test("another organization's member is not there", async () => {
    const [ada, grace] = [(await makeOwner(auth)).caller, (await makeOwner(auth)).caller];
    expect(await readMember(auth, ada.organizationId, ada.user.id)).toMatchObject({ ...ada.user, role: "owner" });
    expect(await readMember(auth, ada.organizationId, grace.user.id)).toBeUndefined();
  });
});

describe("projects", () => {
  test("a handle is taken once in an organization, also by many at once", async () => {
    const [ada, grace] = [(await makeOwner(auth)).caller, (await makeOwner(auth)).caller];
    const one = (): Promise<unknown> => createProject(auth, ada, { handle: "ops", name: "Operations" });
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, one));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    await expect(one()).rejects.toMatchObject({
      code: "CONFLICT",
      message: "there is already a project with the handle ops",
    });
    await createProject(auth, grace, { handle: "ops", name: "Operations" });
  });

  test("bad handles and names are refused by field", async () => {
    const { caller } = await makeOwner(auth);
    await expect(createProject(auth, caller, { handle: "A\u0000", name: "" })).rejects.toMatchObject({
      code: "BAD_USER_INPUT",
      details: { fields: [{ path: "input.handle" }, { path: "input.name" }] },
    });
  });

  test("pages newest first, and nothing of another organization", async () => {
    const [ada, grace] = [(await makeOwner(auth)).caller, (await makeOwner(auth)).caller];
    const made = [];
    for (const handle of ["a", "b", "c"]) made.push(await createProject(auth, ada, { handle, name: handle }));
    const page = await listProjects(auth, ada, { first: 2 });
    expect([page.items.map(({ handle }) => handle), page.hasNextPage]).toEqual([["c", "b"], true]);
    expect((await listProjects(auth, ada, { first: 2, after: page.items[1]!.id })).items).toEqual([made[0]]);
    expect(await readProject(auth, allOf(ada.organizationId), made[0]!.id)).toEqual(made[0]);
    expect(await readProject(auth, allOf(grace.organizationId), made[0]!.id)).toBeUndefined();
    expect(
      (
        await readProjects(
          auth,
          allOf(grace.organizationId),
          made.map(({ id }) => id),
        )
      ).size,
    ).toBe(0);
    expect(
      (
        await readProjects(
          auth,
          allOf(ada.organizationId),
          made.map(({ id }) => id),
        )
      ).size,
    ).toBe(3);
    expect((await listProjects(auth, grace, { first: 2 })).items).toEqual([]);
  });
});
