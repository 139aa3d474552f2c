import { afterAll, beforeAll, expect, test } from "vitest";
import { makeOwner, openAuth, startDatabases, type TestAuth } from "../auth/handle/auth.testsuite.ts";
import { LIMITS } from "../lib/limits.ts";
import { createProject } from "./projects.ts";

const stack = new AsyncDisposableStack();
let auth: TestAuth;
beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  auth = stack.use(openAuth(stack.use(await databases.open())));
});
afterAll(() => stack.disposeAsync());

test("an organization has its 1,000 projects and not one more", async () => {
  const { caller } = await makeOwner(auth);
  await auth.database.query(
    `insert into projects (organization_id, id, handle, name, created_at)
     select $1, gen_random_uuid(), 'p' || number, 'P', now() from generate_series(1, $2::int) number`,
    [caller.organizationId, LIMITS.projectsPerOrganization - 1],
  );
  await createProject(auth, caller, { handle: "last", name: "P" });
  await expect(createProject(auth, caller, { handle: "over", name: "P" })).rejects.toMatchObject({
    code: "CONFLICT",
    details: { reason: "limit_reached" },
    message: "an organization has at most 1000 projects",
  });
  // Its contents stand in the way then.
  await expect(createProject(auth, caller, { handle: "last", name: "P" })).rejects.toMatchObject({
    details: { reason: "handle_taken" },
  });
});
