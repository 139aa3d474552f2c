/** Who did something, who asks, and what a new key may do. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { ALL_SCOPES } from "../server/src/auth/scopes.ts";
import { publish, start } from "./agents.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";
import { decodeId } from "../server/src/lib/ids.ts";
import { connectTo } from "./faults/audit.ts";
import { decide, ENDED, until } from "./runs.ts";

let server: SharedServer;
let accessToken: string;

beforeAll(async () => {
  server = await sharedServer();
  const { email, password } = server.world;
  const login =
    "mutation ($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }";
  ({ accessToken } = (await server.data(login, { email, password }, null)).login);
});

afterAll(() => server[Symbol.asyncDispose]());

const CREATE = "mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { id name secret scopes } }";
const createKey = async (scopes: readonly string[], token?: string) =>
  server.graphql(CREATE, { input: { name: "narrow", scopes } }, token);

test("an actor is a user, a key or a run, each with its name", async () => {
  const agentId = await publish(server, "approve");
  const byKey = await start(server, agentId);
  const run = "mutation ($id: ID!) { runAgent(input: {agentId: $id}) { id startedBy { kind id name } } }";
  const me = (await server.data("{ me { id name } }")).me;
  const byUser = (await server.data(run, { id: agentId }, accessToken)).runAgent;
  expect(byUser.startedBy).toEqual({ kind: "user", id: me.id, name: me.name });

  const asking = await until(server, byKey, "paused");
  expect((await decide(server, byKey, "approve", { answer: { costCentre: "office" } })).errors).toBeUndefined();
  await until(server, asking.id, ...ENDED);
  const { run: decided, agent } = await server.data(
    `query ($run: ID!, $agent: ID!) {
       run(id: $run) { startedBy { kind id name } approvals { nodes { decidedBy { kind id name } } } }
       agent(id: $agent) { versions { nodes { createdBy { kind id name } } } }
     }`,
    { run: byKey, agent: agentId },
  );
  const key = { kind: "key", id: expect.stringMatching(/^key_/), name: "test" };
  expect(decided).toEqual({ startedBy: key, approvals: { nodes: [{ decidedBy: key }] } });
  expect(agent.versions.nodes).toEqual([{ createdBy: key }]);
});

test("a run that a run started names the agent of that run", async () => {
  await publish(server, "echo");
  const definition = `
document: {dsl: 1.0.3, namespace: test, name: parent-of-echo, version: 1.0.0, title: The parent}
do:
  - start: {run: {workflow: {namespace: test, name: echo, version: latest, input: {}}}}`;
  const publishAgent = "mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";
  const input = { projectId: server.world.projectId, definition };
  const parent = (await server.data(publishAgent, { input })).publishAgent.id;
  const ended = await until(server, await start(server, parent), ...ENDED);
  const { run } = await server.data(
    "query ($id: ID!) { run(id: $id) { id children { nodes { startedBy { kind id name } } } } }",
    { id: ended.id },
  );
  expect(run.children.nodes).toEqual([{ startedBy: { kind: "run", id: run.id, name: "The parent" } }]);
});

const CALLER = `{ caller {
  user { id email } apiKey { id name } role scopes memberships { organization { id name } role }
} me { id } organization { id name } }`;

test("caller of a session: the user, the role, its scopes and the memberships", async () => {
  const { caller, me, organization } = await server.data(CALLER, {}, accessToken);
  expect(caller).toEqual({
    user: { id: me.id, email: server.world.email },
    apiKey: null,
    role: "owner",
    scopes: [...ALL_SCOPES],
    memberships: [{ organization, role: "owner" }],
  });
});

test("memberships are listed by the organizations' names, each with the user's role there", async () => {
  const { caller, organization } = await server.data(CALLER, {}, accessToken);
  const client = await connectTo(server);
  for (const [name, role] of [
    ["Zebra", "viewer"],
    ["Aardvark", "editor"],
  ] as const) {
    const { organizationId } = await server.organization(name);
    await client.query("insert into members (organization_id, user_id, role, created_at) values ($1, $2, $3, now())", [
      decodeId("organization", organizationId),
      decodeId("user", caller.user.id),
      role,
    ]);
  }
  await client.end();
  const { memberships } = (await server.data(CALLER, {}, accessToken)).caller;
  const shown = memberships.map((one: any) => [one.organization.name, one.role]);
  expect(shown).toEqual(
    [
      [organization.name, "owner"],
      ["Zebra", "viewer"],
      ["Aardvark", "editor"],
    ].toSorted(([a], [b]) => (a! < b! ? -1 : 1)),
  );
});

test("caller of an API key: the key and its scopes; it needs none", async () => {
  const key = (await createKey(["events:write"])).data.createApiKey;
  const { caller } = await server.data(CALLER, {}, key.secret);
  expect(caller).toEqual({
    user: null,
    apiKey: { id: key.id, name: "narrow" },
    role: null,
    scopes: ["events:write"],
    memberships: [],
  });
});

test("a key must name its scopes, and gets none that its maker lacks", async () => {
  const { createApiKey: key } = (await createKey(["runs:start", "runs:read", "runs:start"])).data;
  expect(key.scopes).toEqual(["runs:read", "runs:start"]);

  const before = (await server.data("{ apiKeys(first: 200) { nodes { id } } }")).apiKeys.nodes.length;
  for (const [scopes, field] of [
    [[], "input.scopes"],
    [["runs:read", "runs:all"], "input.scopes.1"],
    [["Admin"], "input.scopes.0"],
    [["__proto__"], "input.scopes.0"],
    [["x".repeat(100_000)], "input.scopes.0"],
  ] as const) {
    const { errors } = await createKey(scopes);
    expect(errors![0]!.extensions, field).toMatchObject({ code: "BAD_USER_INPUT", fields: [{ path: field }] });
    expect(errors![0]!.message).toContain("runs:start");
    expect(errors![0]!.message.length).toBeLessThan(1_000);
  }
  const missing = await server.graphql('mutation { createApiKey(input: {name: "old"}) { id } }');
  expect(missing.errors![0]!.message).toContain("scopes");

  const maker = (await createKey(["admin", "runs:read"])).data.createApiKey.secret;
  expect((await createKey(["runs:read"], maker)).data.createApiKey.scopes).toEqual(["runs:read"]);
  const more = await createKey(["runs:read", "agents:write"], maker);
  expect(more.errors![0]).toMatchObject({
    message: expect.stringContaining("agents:write"),
    extensions: { code: "FORBIDDEN" },
  });
  const after = (await server.data("{ apiKeys(first: 200) { nodes { id } } }")).apiKeys.nodes.length;
  expect(after).toBe(before + 2);
});

test("a user of the API has what belongs to the user, and nothing of the caller's", async () => {
  for (const field of ["organization { id }", "projects { nodes { id } }"]) {
    const { errors } = await server.graphql(`{ me { ${field} } }`);
    expect(errors![0]!.extensions.code).toBe("GRAPHQL_VALIDATION_FAILED");
  }
});
