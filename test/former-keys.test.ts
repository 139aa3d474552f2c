/** An API key that ended long ago: only its name is left, at what it made. */
import { expect, test } from "vitest";
import { DEFINITIONS } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { movedServer } from "./shared-server.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

const CREATE = "mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { id secret } }";
const REVOKE = "mutation ($id: ID!) { revokeApiKey(input: {apiKeyId: $id}) { id } }";
const PUBLISH = "mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";
const RUN = "mutation ($id: ID!) { runAgent(input: {agentId: $id, input: {n: 1}, wait: 30}) { id } }";

test("90 days after its end a key is deleted; what it made and did keeps its name", async () => {
  await using server = await movedServer();
  const start = await server.clock.now();
  const make = async (name: string, expiresAt?: string): Promise<Data> =>
    (await server.data(CREATE, { input: { name, scopes: ["agents:write", "runs:start", "runs:read"], expiresAt } }))
      .createApiKey;
  const [revoked, expired] = [
    await make("revoked"),
    await make("expired", new Date(start + HOUR_MS).toISOString()),
    await make("later", new Date(start + 200 * DAY_MS).toISOString()),
  ];
  const input = { projectId: server.world.projectId, definition: DEFINITIONS.three };
  const agent = (await server.data(PUBLISH, { input }, revoked.secret)).publishAgent.id;
  const run = (await server.data(RUN, { id: agent }, revoked.secret)).runAgent.id;
  await server.data(REVOKE, { id: revoked.id });

  const listed = async (): Promise<string[]> =>
    (await server.data("{ apiKeys { nodes { name } } }")).apiKeys.nodes.map(({ name }: Data) => name);
  await server.clock.advance(89 * DAY_MS);
  await server.clock.advance(HOUR_MS);
  expect(await listed()).toEqual(["later", "expired", "revoked", "test"]);
  // The server looks every hour.
  await server.clock.advance(DAY_MS);
  await server.clock.advance(HOUR_MS);
  await eventually(async () => (await listed()).length === 2);
  expect(await listed()).toEqual(["later", "test"]);

  for (const { id, secret } of [revoked, expired]) {
    expect((await server.graphql("{ me { id } }", {}, secret)).status).toBe(401);
    for (const query of ["query ($id: ID!) { node(id: $id) { id } }", REVOKE])
      expect((await server.graphql(query, { id })).errors).toMatchObject([{ extensions: { code: "NOT_FOUND" } }]);
  }
  const actor = "{ kind id name }";
  const made = await server.data(
    `query ($run: ID!, $key: [ID!]) {
       run(id: $run) { startedBy ${actor} agentVersion { createdBy ${actor} } }
       auditEvents(filter: {actorId: $key}) { nodes { action actor ${actor} } }
     }`,
    { run, key: [revoked.id] },
  );
  const key = { kind: "key", id: revoked.id, name: "revoked" };
  expect(made).toEqual({
    run: { startedBy: key, agentVersion: { createdBy: key } },
    auditEvents: { nodes: [{ action: "agent_published", actor: key }] },
  });
});
