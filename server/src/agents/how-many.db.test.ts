/** How many agents an organization may have, and versions an agent. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TestAuth } from "../auth/handle/auth.testsuite.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Database } from "../storage/database.ts";
import type { Agent } from "./agent.ts";
import type { Agents } from "./agents.ts";
import { definitionOf, makeWorld, startAgents, type Publish } from "./agents.testsuite.ts";
import { saveAgentDraft } from "./save-agent-draft.ts";

const stack = new AsyncDisposableStack();
let database: Database;
let auth: TestAuth;
let agents: Agents;
let publish: Publish;
beforeAll(async () => {
  ({ database, auth, agents, publish } = stack.use(await startAgents()));
});
afterAll(() => stack.disposeAsync());

test("an organization has its 10,000 agents, drafts and archived ones with them, and not one more", async () => {
  const world = await makeWorld(auth);
  const { organizationId } = world.caller;
  await database.query(
    `insert into agents (organization_id, id, project_id, handle, name, status, created_at, updated_at)
     select $1, gen_random_uuid(), $2, 'a' || number, 'A', 'archived', now(), now() from generate_series(1, $3::int) number`,
    [organizationId, world.project.id, LIMITS.agentsPerOrganization - 2],
  );
  await publish(world, { name: "first" });
  const draft = (name: string): Promise<Agent> =>
    saveAgentDraft(agents, world.caller, { definition: definitionOf({ name }) });
  await draft("last");
  const refusal = {
    code: "CONFLICT",
    details: { reason: "limit_reached" },
    message: "an organization has at most 10000 agents, with those that are archived",
  };
  await expect(draft("over")).rejects.toMatchObject(refusal);
  await expect(publish(world, { name: "over" })).rejects.toMatchObject(refusal);
  await publish(world, { name: "first", version: "2.0.0" });
  await publish(world, { name: "last" });
});

test("an agent has its 10,000 versions and not one more; one that there is can be published again", async () => {
  const world = await makeWorld(auth);
  const { id, organizationId } = await publish(world);
  await database.query(
    `insert into agent_versions (organization_id, id, agent_id, version, source, secrets, created_by_kind, created_by_id, created_at)
     select $1, gen_random_uuid(), $2, '0.0.' || number, 'x', '{}', 'user', $4, now() from generate_series(1, $3::int) number`,
    [organizationId, id, LIMITS.versionsPerAgent - 2, world.caller.user.id],
  );
  await publish(world, { version: "1.0.1" });
  await expect(publish(world, { version: "1.0.2" })).rejects.toMatchObject({
    code: "CONFLICT",
    details: { reason: "limit_reached" },
    message:
      "an agent has at most 10000 versions, and intake has them: publish one that there is, or under another name",
  });
  expect((await publish(world)).publishedVersion).toBe("1.0.0");
  await publish(world, { name: "another" });
});
