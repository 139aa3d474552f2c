/** Signing in, projects, keys and agents over the wire, the specification's operations with variables and with literals. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { publish, start, type AgentName } from "./agents.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

const ID = /^[a-z]+_[0-7][0-9a-hjkmnp-tv-z]{25}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

let server: SharedServer;
let agents: Record<AgentName, string>;
beforeAll(async () => {
  server = await sharedServer();
  const names: AgentName[] = ["three", "echo", "slow", "patient", "approve", "failing"];
  const ids = await Promise.all(names.map(async (name) => [name, await publish(server, name)]));
  agents = Object.fromEntries(ids);
});
afterAll(() => server[Symbol.asyncDispose]());

describe("signing in", () => {
  const LOGIN =
    "mutation($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken refreshToken expiresAt } }";
  const REFRESH =
    "mutation($input: RefreshTokenInput!) { refreshToken(input: $input) { accessToken refreshToken expiresAt } }";

  test("login with variables and with literals, and the token works", async () => {
    const { email, password } = server.world;
    const { login } = await server.data(LOGIN, { email, password }, null);
    expect(login).toEqual({
      accessToken: expect.any(String),
      refreshToken: expect.any(String),
      expiresAt: expect.stringMatching(TIME),
    });
    expect(Date.parse(login.expiresAt) - Date.now()).toBeGreaterThan(9 * 60_000);
    const literal = await server.data(
      `mutation { login(email: "${email}", password: "${password}") { accessToken } }`,
      {},
      null,
    );
    for (const { accessToken } of [login, literal.login]) {
      expect((await server.data("{ me { id name } }", {}, accessToken)).me).toEqual({
        id: expect.stringMatching(ID),
        name: "first",
      });
    }
  });

  test("login ignores an Authorization header, a bad one too", async () => {
    const { email, password } = server.world;
    const { status, errors } = await server.graphql(LOGIN, { email, password }, "ag_live_nonsense");
    expect({ status, errors }).toEqual({ status: 200, errors: undefined });
  });

  test("a refresh token works once, with new tokens; logout ends the session", async () => {
    const { email, password } = server.world;
    const { login } = await server.data(LOGIN, { email, password }, null);
    const { refreshToken: fresh } = await server.data(REFRESH, { input: { refreshToken: login.refreshToken } }, "bad");
    expect((await server.data("mutation { logout { name } }", {}, fresh.accessToken)).logout.name).toBe("first");
    const { errors, status } = await server.graphql("{ me { id } }", {}, fresh.accessToken);
    expect({ code: errors![0]!.extensions.code, status }).toEqual({ code: "UNAUTHENTICATED", status: 401 });
    const again = await server.graphql(REFRESH, { input: { refreshToken: fresh.refreshToken } }, null);
    expect(again).toMatchObject({ status: 200, errors: [{ extensions: { code: "UNAUTHENTICATED" } }] });
  });

  test("me of an API key is its maker; organization and projects are theirs", async () => {
    const { me, organization, project, projects } = await server.data(
      `{ me { id name email } organization { id name plan }
         project(id: "${server.world.projectId}") { handle name createdAt } projects(first: 1) { edges { cursor node { handle } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`,
    );
    expect(me).toMatchObject({
      email: server.world.email,
    });
    expect(organization).toMatchObject({ id: server.world.organizationId, plan: "enterprise" });
    expect(project).toEqual({ handle: "test", name: "Test", createdAt: expect.stringMatching(TIME) });
    expect(projects).toMatchObject({
      edges: [{ cursor: expect.any(String) }],
      pageInfo: {
        hasPreviousPage: false,
        startCursor: projects.edges[0].cursor,
        endCursor: projects.edges[0].cursor,
      },
    });
  });
});

describe("projects and API keys", () => {
  test("a project is made, and its handle is taken from then on", async () => {
    const create = (handle: string) =>
      server.graphql("mutation($input: CreateProjectInput!) { createProject(input: $input) { id handle name } }", {
        input: { handle, name: "Second" },
      });
    expect((await create("second")).data.createProject).toEqual({
      id: expect.stringMatching(/^project_/),
      handle: "second",
      name: "Second",
    });
    expect((await create("second")).errors![0]!.extensions.code).toBe("CONFLICT");
    expect((await create("Not a handle")).errors![0]!.extensions).toMatchObject({
      code: "BAD_USER_INPUT",
      fields: [{ path: "input.handle" }],
    });
  });

  test("a key is shown once, works, is listed, and ends when it is revoked", async () => {
    const { createApiKey: key } = await server.data(
      "mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { id name hint secret scopes createdBy { name } createdAt expiresAt revokedAt } }",
      {
        input: { name: "robot", scopes: ["runs:start", "admin", "runs:start"], expiresAt: "2099-01-01T00:00:00+01:00" },
      },
    );
    expect(key).toMatchObject({
      name: "robot",
      hint: key.secret.slice(-4),
      createdBy: { name: "first" },
      expiresAt: "2098-12-31T23:00:00.000Z",
      revokedAt: null,
    });
    expect(key.scopes).toEqual(["runs:start", "admin"]);
    const { apiKeys } = await server.data("{ apiKeys { nodes { id secret } } }", {}, key.secret);
    expect(apiKeys.nodes[0]).toEqual({ id: key.id, secret: null });
    const revoke = "mutation($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { id revokedAt } }";
    const { revokeApiKey: revoked } = await server.data(revoke, { input: { apiKeyId: key.id } });
    expect(revoked).toEqual({ id: key.id, revokedAt: expect.stringMatching(TIME) });
    expect((await server.data(revoke, { input: { apiKeyId: key.id } })).revokeApiKey).toEqual(revoked);
    expect(await server.graphql("{ me { id } }", {}, key.secret)).toMatchObject({
      status: 401,
      errors: [{ extensions: { code: "UNAUTHENTICATED" } }],
    });
  });
});

describe("agents", () => {
  test("agents by project, with variables and with literals", async () => {
    const byVariable = await server.data("query($p: ID) { agents(projectId: $p) { id name status version } }", {
      p: server.world.projectId,
    });
    const byLiteral = await server.data(
      `{ agents(projectId: "${server.world.projectId}") { id name status version } }`,
    );
    expect(byVariable).toEqual(byLiteral);
    expect(byVariable.agents.map(({ name }: { name: string }) => name)).toEqual([
      "approve",
      "echo",
      "failing",
      "patient",
      "slow",
      "three",
    ]);
    expect(byVariable.agents[5]).toEqual({ id: agents.three, name: "three", status: "active", version: "1.0.0" });
    expect((await server.data("{ agents { id } }")).agents).toHaveLength(6);
  });

  test("an agent shows its form, definition, versions and runs", async () => {
    const { agent } = await server.data(
      "query($id: ID!) { agent(id: $id) { handle description project { handle } inputSchema inputFields { name type title required default choices { value } } definition versions { nodes { version definition createdBy { kind name } } } createdAt updatedAt } }",
      { id: agents.three },
    );
    expect(agent).toMatchObject({
      handle: "three",
      description: null,
      project: { handle: "test" },
      inputSchema: { type: "object", required: ["n"] },
      inputFields: [{ name: "n", type: "number", title: "n", required: true, default: null, choices: null }],
      definition: expect.stringContaining("document:"),
      versions: { nodes: [{ version: "1.0.0", createdBy: { kind: "key", name: "test" } }] },
    });
  });

  test("agentsConnection pages, newest first", async () => {
    const page = async (after: string | null) =>
      (
        await server.data(
          "query($after: String) { agentsConnection(first: 4, after: $after) { nodes { id } pageInfo { endCursor hasNextPage } } }",
          { after },
        )
      ).agentsConnection;
    const first = await page(null);
    const second = await page(first.pageInfo.endCursor);
    expect([first.pageInfo.hasNextPage, second.pageInfo.hasNextPage]).toEqual([true, false]);
    const ids = [...first.nodes, ...second.nodes].map(({ id }: { id: string }) => id);
    expect(ids).toEqual(ids.toSorted().toReversed());
    expect(new Set(ids)).toEqual(new Set(Object.values(agents)));
  });

  test("agentsConnection pages by name, as agents is", async () => {
    const names: string[] = [];
    for (let after: string | null = null, hasNextPage = true; hasNextPage;) {
      const { agentsConnection }: any = await server.data(
        "query($after: String) { agentsConnection(order: name, first: 2, after: $after) { nodes { id } pageInfo { endCursor hasNextPage } } }",
        { after },
      );
      names.push(...agentsConnection.nodes.map(({ id }: { id: string }) => id));
      ({ endCursor: after, hasNextPage } = agentsConnection.pageInfo);
    }
    const { agents: listed } = await server.data("{ agents { id } }");
    expect(names).toEqual(listed.map(({ id }: { id: string }) => id));
  });

  test("a definition is checked: problems with path, line and column", async () => {
    const check = async (definition: string) =>
      (
        await server.data(
          "query($definition: String!) { validateDefinition(definition: $definition) { valid problems { path line column message } } }",
          { definition },
        )
      ).validateDefinition;
    expect(
      await check("document: {dsl: '1.0.3', namespace: test, name: x, version: '1.0.0'}\ndo:\n  - a: {set: {b: 1}}\n"),
    ).toEqual({ valid: true, problems: [] });
    const { valid, problems } = await check(
      "document: {dsl: '1.0.3', namespace: test, name: x}\ndo:\n  - a: {sett: {b: 1}}\n",
    );
    expect(valid).toBe(false);
    expect(problems[0]).toEqual({
      path: expect.any(String),
      line: expect.any(Number),
      column: expect.any(Number),
      message: expect.any(String),
    });
  });

  test("a paused agent refuses runs, and publishing is refused with the fields", async () => {
    const set = async (status: string) =>
      (
        await server.data(
          `mutation { setAgentStatus(input: {agentId: "${agents.echo}", status: ${status}}) { status } }`,
        )
      ).setAgentStatus.status;
    expect(await set("paused")).toBe("paused");
    const { errors } = await server.graphql(`mutation { runAgent(input: {agentId: "${agents.echo}"}) { id } }`);
    expect(errors![0]!.extensions.code).toBe("CONFLICT");
    expect(await set("active")).toBe("active");
    const refused = await server.graphql(
      "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }",
      {
        input: { projectId: server.world.projectId, definition: "document: {}" },
      },
    );
    expect(refused.errors![0]!.extensions).toMatchObject({
      code: "BAD_USER_INPUT",
      fields: expect.arrayContaining([expect.objectContaining({ code: "invalid" })]),
    });
  });
});

test("node(id) answers every kind of thing", async () => {
  const runId = await start(server, agents.three, { n: 1 });
  const { me, organization, apiKeys } = await server.data(
    "{ me { id } organization { id } apiKeys(first: 1) { nodes { id } } }",
  );
  const ids: Record<string, string> = {
    User: me.id,
    Organization: organization.id,
    Project: server.world.projectId,
    Agent: agents.three,
    Run: runId,
    ApiKey: apiKeys.nodes[0].id,
  };
  for (const [type, id] of Object.entries(ids)) {
    expect((await server.data("query($id: ID!) { node(id: $id) { __typename id } }", { id })).node).toEqual({
      __typename: type,
      id,
    });
  }
});
