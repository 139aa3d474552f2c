/**
 * A narrowed API key sees what it reaches and nothing else of its own organization. Generated from the schema: every argument
 * that takes an id is asked with an id that the key does not reach and with one that does not exist, which must answer the
 * same word for word; every field that leads anywhere is asked from what the key reaches, and must show nothing hidden.
 * A whole key sees more in the same places: so the test could fail.
 */
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { expectInTime } from "./in-time.ts";
import { encodeId, newId } from "../server/src/lib/ids.ts";
import { publish, start } from "./agents.ts";
import { eventually, startTestServer, type Data, type ShownError, type TestServer } from "./client.ts";
import {
  AGENTS,
  createKey,
  definitionOf,
  its,
  keys,
  makeAgents,
  markersOf,
  projects,
  SCOPES,
  VARIANTS,
  variants,
} from "./narrowed-keys.ts";
import { ask, hiddenOf, LEADS, ownOf, places, questions, unknownOf } from "./questions.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  await makeAgents(server);
});
afterAll(() => server[Symbol.asyncDispose]());

describe.each(variants)("a key narrowed to %s", (variant) => {
  test("an id that it does not reach is as one that does not exist, wherever it is given", async () => {
    const compared = [];
    for (const place of places) {
      for (const kind of place.kinds) {
        const expected = await ask(server, place, unknownOf(kind), keys[variant]);
        const answer = await ask(server, place, hiddenOf(variant, kind), keys[variant]);
        expect(answer, `${place.name} with a hidden ${kind}`).toEqual(expected);
        compared.push(place.name);
        // The same question has an answer for what the key reaches.
        if (place.operation === "query")
          expect(
            (await ask(server, place, ownOf(kind), keys[variant])).errors,
            `${place.name} with its own ${kind}`,
          ).toBeUndefined();
      }
    }
    expect(compared.length).toBeGreaterThan(45);
  });

  test("no field shows anything that it does not reach", async () => {
    const markers = markersOf(variant);
    const shown = async ([query, shallower]: string[], token: string): Promise<string[]> => {
      const { data, errors } = await server.graphql(query!, {}, token);
      const codes = errors?.map(({ extensions }) => extensions.code) ?? [];
      if (shallower !== undefined && codes.includes("QUERY_TOO_COMPLEX")) return shown([shallower], token);
      expect(codes, query).toEqual(query!.includes('project: "x"') ? ["NOT_FOUND"] : []);
      const text = JSON.stringify({ data, errors });
      return markers.filter((marker) => text.includes(marker));
    };
    const leads = new Set<string>();
    const asked = questions(variant);
    for (const { name, queries } of asked) {
      expect(await shown(queries, keys[variant]), queries[0]).toEqual([]);
      if (variant === "agents" && LEADS.includes(name) && (await shown(queries, keys.whole)).length > 0)
        leads.add(name);
    }
    expect(asked.length).toBeGreaterThan(100);
    expect([...leads].toSorted()).toEqual(variant === "agents" ? LEADS.toSorted() : []);
  });

  test("counts are of what it reaches", async () => {
    const { shown } = VARIANTS[variant];
    const runs = shown.flatMap((name) => its[name].runs).length;
    const approvals = shown.filter((name) => name !== "calls").flatMap((name) => its[name].runs).length;
    expect(await server.data("{ runCount { value } badges { openRuns openApprovals } }", {}, keys[variant])).toEqual({
      runCount: { value: runs },
      badges: { openRuns: runs, openApprovals: approvals },
    });
    const all = await server.data("{ runCount { value } badges { openRuns openApprovals } }");
    expect(all).toEqual({ runCount: { value: 8 }, badges: { openRuns: 8, openApprovals: 6 } });
    const near = `{ runCount(filter: {projectId: "${projects.test}"}) { value } badges(projectId: "${projects.test}") { openRuns } }`;
    const inTest = shown.filter((name) => AGENTS[name].project === "test").flatMap((name) => its[name].runs).length;
    expect(await server.data(near, {}, keys[variant])).toEqual({
      runCount: { value: inTest },
      badges: { openRuns: inTest },
    });
  });
});

describe("a key is narrowed", () => {
  const CREATE =
    "mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { projects { id } agents { id } } }";
  const refusalOf = async (input: object): Promise<ShownError | undefined> =>
    (await server.graphql(CREATE, { input: { name: "narrow", scopes: ["runs:read"], ...input } })).errors?.[0];

  test("to projects, to agents or to both, which it shows", async () => {
    const create = async (input: object): Promise<Data> =>
      (await server.data(CREATE, { input: { name: "a", scopes: SCOPES, ...input } })).createApiKey;
    expect(await create({})).toEqual({ projects: null, agents: null });
    expect(await create({ projectIds: [projects.test] })).toEqual({ projects: [{ id: projects.test }], agents: null });
    expect(await create({ agentIds: [its.far.agent, its.far.agent] })).toEqual({
      projects: null,
      agents: [{ id: its.far.agent }],
    });
    expect(await create({ projectIds: [projects.test], agentIds: [its.far.agent] })).toEqual({
      projects: [{ id: projects.test }],
      agents: [{ id: its.far.agent }],
    });
  });

  test("but not to nothing, not to a project and an agent in it, and not with admin", async () => {
    const bad = (path: string, code: string) => ({
      extensions: {
        code: "BAD_USER_INPUT",
        reason: "invalid_input",
        fields: [expect.objectContaining({ path, code })],
      },
    });
    expect(await refusalOf({ projectIds: [] })).toMatchObject(bad("input.projectIds", "too_few"));
    expect(await refusalOf({ agentIds: [] })).toMatchObject(bad("input.agentIds", "too_few"));
    const both = { projectIds: [projects.test], agentIds: [its.mine.agent] };
    expect(await refusalOf(both)).toMatchObject(bad("input.agentIds", "repeated"));
    const admin = { agentIds: [its.mine.agent], scopes: ["runs:read", "admin"] };
    expect(await refusalOf(admin)).toMatchObject(bad("input.scopes", "not_a_choice"));
    expect(await refusalOf({ agentIds: [projects.test] })).toMatchObject({ extensions: { code: "NOT_FOUND" } });
    const others = await server.organization("others");
    const theirs = await publish(server, "echo", others);
    const create = "mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { id } }";
    for (const reach of [{ agentIds: [theirs] }, { projectIds: [others.projectId] }]) {
      const { errors } = await server.graphql(create, { input: { name: "narrow", scopes: ["runs:read"], ...reach } });
      expect(errors).toMatchObject([{ extensions: { code: "NOT_FOUND" } }]);
    }
  });

  test("to at most 100 projects and agents", async () => {
    const unknown = (count: number): string[] => Array.from({ length: count }, () => encodeId("agent", newId()));
    // They are not there; 101 are not looked for.
    expect(await refusalOf({ agentIds: unknown(100) })).toMatchObject({ message: "Agent not found" });
    expect(await refusalOf({ agentIds: unknown(100), projectIds: [projects.test] })).toMatchObject({
      message: "input.agentIds must be at most 100, projects and agents together",
      extensions: { fields: [{ path: "input.agentIds", code: "too_many" }] },
    });
    expect(await refusalOf({ agentIds: unknown(101) })).toMatchObject({
      extensions: { fields: [{ code: "too_many" }] },
    });
  });

  test("the presets list the scopes to take, for any caller", async () => {
    const { apiKeyPresets } = await server.data(
      "{ apiKeyPresets { id title description scopes needsAgent } }",
      {},
      keys.agents,
    );
    expect(apiKeyPresets.map(({ id }: Data) => id)).toEqual([
      "everything",
      "run-agent",
      "read-only",
      "ci-publish",
      "webhook-sender",
    ]);
    const preset = apiKeyPresets.find(({ id }: Data) => id === "webhook-sender");
    expect(preset).toMatchObject({ scopes: ["runs:start"], needsAgent: true });
    const { secret } = await createKey(server, { scopes: preset.scopes, agentIds: [its.far.agent] });
    const run = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id status agent { name } } }";
    const { runAgent } = await server.data(run, { input: { agentId: its.far.agent, input: {} } }, secret);
    expect(runAgent.agent.name).toBe("Title of far");
    const other = await server.graphql(run, { input: { agentId: its.mine.agent, input: {} } }, secret);
    expect(other.errors).toMatchObject([{ message: "Agent not found", extensions: { code: "NOT_FOUND" } }]);
    await server.data(`mutation { cancelRun(runId: "${runAgent.id}") { id } }`);
  });
});

describe("changes", () => {
  test("of what a key does not reach are not sent, nor counted", async () => {
    const heard: Data[] = [];
    const client = server.webSocket(keys.agents);
    for (const query of [
      "subscription { runsChanged { id agent { id } startedBy { id name } } }",
      "subscription { approvalsChanged { id agent { id } run { id parent { id } } } }",
      "subscription { agentsChanged { id name } }",
      "subscription { badgesChanged { openRuns openApprovals } }",
    ])
      client.subscribe(
        { query },
        { next: (value) => heard.push(value), error: (error) => heard.push(error), complete: () => {} },
      );
    // The badges' first value says that all are open: they share the way there.
    await eventually(() => heard.some(({ data }) => data.badgesChanged));
    await start(server, its.far.agent);
    const nearRun = await start(server, its.near.agent);
    const status = "mutation($input: SetAgentStatusInput!) { setAgentStatus(input: $input) { id } }";
    await server.data(status, { input: { agentId: its.far.agent, status: "paused" } });
    await server.data(status, { input: { agentId: its.far.agent, status: "active" } });
    await server.data(status, { input: { agentId: its.mine.agent, status: "paused" } });
    await server.data(status, { input: { agentId: its.mine.agent, status: "active" } });
    const child = (): Data => heard.find(({ data }) => data.approvalsChanged);
    await eventually(
      async () => child() && heard.some(({ data }) => data.agentsChanged) && heard.some(({ data }) => data.runsChanged),
    );
    await eventually(async () => heard.some(({ data }) => data.badgesChanged?.openApprovals === 4));
    // The child of the hidden run is shown, and nothing of its parent.
    expect(child().data.approvalsChanged).toMatchObject({ agent: { id: its.mine.agent }, run: { parent: null } });
    const text = JSON.stringify(heard);
    expect(
      markersOf("agents")
        .concat(nearRun)
        .filter((marker) => text.includes(marker)),
    ).toEqual([]);
    expect(heard.flatMap(({ data, errors }) => errors ?? data.runsChanged?.startedBy ?? [])).toContainEqual({
      id: null,
      name: "a run",
    });
    expect(heard.flatMap(({ data }) => data.badgesChanged ?? [])).toEqual([
      { openRuns: 4, openApprovals: 3 },
      { openRuns: 5, openApprovals: expect.toSatisfy((count) => count === 3 || count === 4) },
      ...(heard.filter(({ data }) => data.badgesChanged).length > 2 ? [{ openRuns: 5, openApprovals: 4 }] : []),
    ]);
    await client.dispose();
    await server.data(`mutation { cancelRun(runId: "${nearRun}") { id } }`);
  });
});

describe("what a narrowed key changes", () => {
  const refused = async (query: string, variables: object, token: string): Promise<ShownError[]> =>
    (await server.graphql(query, { input: variables }, token)).errors ?? [];
  const RUN = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }";

  test("an idempotency key does not tell that somebody used it", async () => {
    await server.data(RUN, { input: { agentId: its.far.agent, idempotencyKey: "known", input: {} } });
    for (const input of [{}, { other: true }])
      expect(await refused(RUN, { agentId: its.far.agent, idempotencyKey: "known", input }, keys.agents)).toMatchObject(
        [{ message: "Agent not found", extensions: { code: "NOT_FOUND" } }],
      );
  });

  test.each(["publishAgent", "saveAgentDraft"])("%s makes and changes only agents that it reaches", async (name) => {
    const type = name === "publishAgent" ? "PublishAgentInput" : "SaveAgentDraftInput";
    const query = `mutation($input: ${type}!) { ${name}(input: $input) { id handle } }`;
    const textOf = (handle: string, project: string): object => ({
      definition: definitionOf(handle, project, "wait: {wait: PT1H}").replace("1.0.0", "2.0.0"),
    });
    const messageOf = async (token: string, handle: string, project: string): Promise<string> => {
      const [error] = await refused(query, textOf(handle, project), token);
      return `${error?.extensions.code} ${error?.message.replaceAll(handle, "HANDLE").replaceAll(project, "PROJECT")}`;
    };
    // One that is there and one that is not, in the same words.
    const other = await messageOf(keys.agents, "near", "test");
    expect(other).toContain("FORBIDDEN this API key is narrowed");
    expect(await messageOf(keys.agents, "nobody", "test")).toBe(other);
    const elsewhere = await messageOf(keys.agents, "far", "other");
    expect(elsewhere).toContain("BAD_USER_INPUT there is no project");
    expect(await messageOf(keys.agents, "far", "nowhere")).toBe(elsewhere);
    expect(await messageOf(keys.project, "far", "other")).toBe(elsewhere);
    expect(await server.data("{ agents { handle } }")).toMatchObject({
      agents: expect.not.arrayContaining([{ handle: "nobody" }]),
    });
    // A project's key makes agents in it, and reaches them.
    const { [name]: made } = await server.data(
      query,
      { input: textOf(`new-${name.toLowerCase()}`, "test") },
      keys.project,
    );
    expect((await server.data(`{ agent(id: "${made.id}") { handle } }`, {}, keys.project)).agent.handle).toBe(
      made.handle,
    );
    expect((await server.data("{ agents { id } }", {}, keys.agents)).agents).toHaveLength(2);
  });

  test("checking a definition does not tell which projects there are, nor what secrets they lack", async () => {
    const check = async (project: string): Promise<Data> => {
      const definition = `document: {dsl: '1.0.3', namespace: ${project}, name: new, version: '1.0.0'}\nuse: {secrets: [token]}\ndo: [{wait: {wait: PT1H}}]\n`;
      const query =
        "query($definition: String!) { validateDefinition(definition: $definition) { valid problems { message } } }";
      return (await server.data(query, { definition }, keys.agents)).validateDefinition;
    };
    expect(JSON.stringify(await check("test"))).toContain("is not set in the project test");
    const other = JSON.stringify(await check("other"));
    expect(other.replaceAll("handle other,", "handle nowhere,").replace("create other`", "create nowhere`")).toBe(
      JSON.stringify(await check("nowhere")),
    );
    expect(other).not.toContain("is not set");
  });

  test("objects of the whole organization are refused", async () => {
    const make = `mutation { createProject(input: {handle: "mine", name: "Mine"}) { id } }`;
    const { me } = await server.data("{ me { id } }");
    for (const query of [
      make,
      `{ node(id: "${me.id}") { id } }`,
      `{ node(id: "${encodeId("user", newId())}") { id } }`,
    ]) {
      expect((await server.graphql(query, {}, keys.project)).errors).toMatchObject([
        { message: expect.stringContaining("this needs the whole organization ("), extensions: { code: "FORBIDDEN" } },
      ]);
    }
    expect(
      (
        await server.data(
          "{ me { id } organization { id } caller { scopes apiKey { agents { id } projects { id } } } }",
          {},
          keys.agents,
        )
      ).caller,
    ).toEqual({
      scopes: SCOPES,
      apiKey: { agents: [{ id: its.mine.agent }, { id: its.calls.agent }], projects: null },
    });
  });

  test("`run: workflow` starts agents that the key does not reach; the key sees only its own run", async () => {
    const id = await start(server, its.calls.agent, {}, keys.agents);
    const whole = `{ run(id: "${id}") { children(first: 1) { nodes { id } } steps(first: 1) { child { id } } } }`;
    await eventually(async () => (await server.data(whole)).run.children.nodes.length === 1);
    expect((await server.data(whole, {}, keys.agents)).run).toEqual({
      children: { nodes: [] },
      steps: [{ child: null }],
    });
    const { run } = await server.data(whole);
    expect(
      (await server.graphql(`{ run(id: "${run.children.nodes[0].id}") { id } }`, {}, keys.agents)).errors,
    ).toHaveLength(1);
  });

  test("cancelRuns cancels all that it reaches, and no more", async () => {
    const before = (await server.data("{ runCount(filter: {status: [running, paused, pending]}) { value } }")).runCount
      .value;
    const own = (await server.data("{ badges { openRuns } }", {}, keys.both)).badges.openRuns;
    const cancel = "mutation { cancelRuns(input: {runs: {all: true}}) { cancelledCount } }";
    expect((await server.data(cancel, {}, keys.both)).cancelRuns).toEqual({ cancelledCount: own });
    expect(
      (await server.data("{ runCount(filter: {status: [running, paused, pending]}) { value } }")).runCount.value,
    ).toBeLessThan(before);
    expect((await server.data(`{ run(id: "${its.near.run}") { status } }`)).run.status).toMatch(
      /running|paused|failed/,
    );
    expect((await server.data("{ badges { openRuns openApprovals } }", {}, keys.both)).badges).toEqual({
      openRuns: 0,
      openApprovals: 0,
    });
  });
});

describe("a key ends, and with it within 10 s whatever is open", () => {
  test.each(["revoked", "expired"])("when it is %s", async (how) => {
    const agentId = await publish(server, "patient");
    const running = await start(server, agentId);
    const endsInMs = 20_000;
    const expiresAt = how === "expired" ? new Date((await server.clock.now()) + endsInMs).toISOString() : undefined;
    const { id, secret } = await createKey(server, { agentIds: [agentId], ...(expiresAt && { expiresAt }) });
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
    await once(socket, "open");
    socket.send(JSON.stringify({ type: "connection_init", payload: { Authorization: `Bearer ${secret}` } }));
    await once(socket, "message");
    const closed = once(socket, "close").then(([code]) => code as number);
    const events = server.events(`subscription { runUpdated(runId: "${running}") { status } }`, {}, secret);
    await events.next();
    const ended = events.next().then(({ value }) => value.data);
    const wait = `mutation { runAgent(input: {agentId: "${agentId}", wait: 30}) { status } }`;
    const waited = server.graphql(wait, {}, secret);
    await eventually(
      async () =>
        (await server.data(`{ runCount(filter: {agentId: "${agentId}", status: running}) { value } }`)).runCount.value >
        1,
    );
    const since = performance.now();
    if (how === "expired") await server.clock.advance(endsInMs);
    else await server.data(`mutation { revokeApiKey(input: {apiKeyId: "${id}"}) { revokedAt } }`);
    expect((await server.graphql("{ me { id } }", {}, secret)).status).toBe(401);
    expect(await closed).toBe(4403);
    expect((await ended).errors).toMatchObject([{ extensions: { code: "UNAUTHENTICATED" } }]);
    expect(await waited).toMatchObject({ status: 401, errors: [{ extensions: { code: "UNAUTHENTICATED" } }] });
    expectInTime(performance.now() - since, 10_000);
    await server.data(`mutation { cancelRuns(input: {runs: {filter: {agentId: "${agentId}"}}}) { cancelledCount } }`);
  });
});
