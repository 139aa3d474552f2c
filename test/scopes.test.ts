/**
 * A key can do what its scopes say and no more, over every way in. Generated from the schema: each field of each type is
 * asked for with exactly the scopes that it needs, and with all but one of them. What is refused has not happened.
 */
import { getNamedType, isCompositeType, isObjectType, type GraphQLObjectType } from "graphql";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ALL_SCOPES, ROLE_SCOPES, type Scope } from "../server/src/auth/scopes.ts";
import { readFieldAccess, type Access } from "../server/src/graphql/builder/access.ts";
import { DEFINITIONS, publish, start, type AgentName } from "./agents.ts";
import { eventually, startTestServer, type Data, type ShownError, type TestServer } from "./client.ts";
import { argumentsOf, fieldsOf, questionOf, schema, type Field, type Operation, type Question } from "./root-fields.ts";
import { call, firingsOf, webhookOf } from "./webhooks.ts";

const access = readFieldAccess(schema);

let server: TestServer;
let ids: Record<string, string>;
let accessToken: string;
const keys = new Map<string, string>();

/** One key for each set of scopes. */
async function keyWith(scopes: readonly Scope[]): Promise<string> {
  const name = scopes.toSorted().join(" ");
  if (!keys.has(name)) keys.set(name, await server.key(scopes));
  return keys.get(name)!;
}
const keyWithout = (scope: Scope): Promise<string> => keyWith(ALL_SCOPES.filter((one) => one !== scope));

type Asked = string | Question;

/** A subscription is asked for its first event. */
async function ask(asked: Asked, token: string): Promise<{ data: Data; errors: ShownError[] | undefined }> {
  const { query, variables } = typeof asked === "string" ? { query: asked, variables: {} } : asked;
  if (!query.startsWith("subscription")) return server.graphql(query, variables, token);
  for await (const { data } of server.events(query, variables, token)) return data;
  throw new Error("no answer");
}

const forbidden = (scope: Scope) =>
  expect.objectContaining({
    message: expect.stringContaining(`this needs the scope ${scope} (`),
    extensions: { code: "FORBIDDEN", scope },
  });

beforeAll(async () => {
  // A model that nobody answers for.
  server = await startTestServer({ env: { LLM_BASE_URL: "http://127.0.0.1:9/v1", LLM_MODEL: "none" } });
  const agents = {} as Record<AgentName, string>;
  for (const name of ["three", "failing", "approve", "patient"] as const) agents[name] = await publish(server, name);
  const hook = await webhookOf(server, agents.three);
  const doomed = await webhookOf(server, agents.three, { name: "doomed" });
  await call(hook.url, { n: 1 });
  const [firing] = await firingsOf(server, hook);
  const { publishEvent } = await server.data(
    'mutation { publishEvent(input: {source: "shop", event: "paid", id: "1"}) { id } }',
  );
  const failed = await start(server, agents.failing);
  const paused = await start(server, agents.approve);
  const other = await start(server, agents.approve);
  await start(server, agents.patient);
  const cancelled = await start(server, agents.patient);
  const { approvals } = await eventually(async () => {
    const data = await server.data("{ approvals { nodes { id run { id } } } }");
    return data.approvals.nodes.length > 1 ? data : undefined;
  });
  await eventually(async () => (await server.data(`{ run(id: "${failed}") { status } }`)).run.status === "failed");
  const { saveAgentDraft, setSecret, createApiKey, me } = await server
    .data(
      `mutation($draft: SaveAgentDraftInput!, $secret: SetSecretInput!) { setSecret(input: $secret) { id } saveAgentDraft(input: $draft) { id } createApiKey(input: {name: "old", scopes: ["runs:read", "runs:start"]}) { id createdBy { id } } }`,
      {
        draft: { projectId: server.world.projectId, definition: DEFINITIONS.echo },
        secret: { projectId: server.world.projectId, name: "old", value: "planted" },
      },
    )
    .then((data) => ({ ...data, me: data.createApiKey.createdBy }));
  const { inviteMember } = await server.data("mutation { inviteMember(input: {role: viewer}) { id url } }");
  const { agent } = await server.data(`{ agent(id: "${agents.three}") { agentVersion { id } } }`);
  const { email, password } = server.world;
  const login = `mutation { login(email: "${email}", password: "${password}") { accessToken } }`;
  ({ accessToken } = (await server.data(login, {}, null)).login);
  ids = {
    ...agents,
    version: agent.agentVersion.id,
    drafted: saveAgentDraft.id,
    failed,
    paused,
    cancelled,
    approval: approvals.nodes.find(({ run }: Data) => run.id === paused).id,
    signalled: other,
    reassigned: approvals.nodes.find(({ run }: Data) => run.id === other).id,
    agent: agents.three,
    run: failed,
    trigger: hook.id,
    doomed: doomed.id,
    firing: firing!.id,
    event: publishEvent.id,
    apiKey: createApiKey.id,
    secret: setSecret.id,
    modelConnection: await modelConnectionOf("kept"),
    doomedConnection: await modelConnectionOf("doomed"),
    user: me.id,
    project: server.world.projectId,
    organization: server.world.organizationId,
    member: await memberOf("promoted"),
    removed: await memberOf("removed"),
    invitation: inviteMember.id,
    token: inviteMember.url.split("=")[1],
  };
});
afterAll(() => server[Symbol.asyncDispose]());

async function modelConnectionOf(name: string): Promise<string> {
  const create = "mutation($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }";
  const input = {
    projectId: server.world.projectId,
    name,
    provider: "openai_compatible",
    baseUrl: "http://127.0.0.1:9/v1",
    model: "none",
  };
  return (await server.data(create, { input })).createModelConnection.id;
}

async function memberOf(name: string): Promise<string> {
  await server.member(`${name}@scopes.example.org`, "viewer");
  const { members } = await server.data("{ members(first: 1) { nodes { id } } }");
  return members.nodes[0].id;
}

const id = (name: string): string => JSON.stringify(ids[name]);
const runThree = (): string => `input: {agentId: ${id("three")}, input: {n: 1}, wait: 5}`;

/** Arguments about an object of its own: the others must stay as they are, or are not fit for it. */
const GIVEN: Record<string, () => object> = {
  agentByHandle: () => ({ project: "test", agent: "failing" }),
  invitation: () => ({ token: ids["token"] }),
  node: () => ({ id: ids["user"] }),
  createApiKey: () => ({ scopes: ["admin"] }),
  setMemberRole: () => ({ role: "runner" }),
  removeMember: () => ({ memberId: ids["removed"] }),
  publishAgentDraft: () => ({ agentId: ids["drafted"] }),
  setAgentStatus: () => ({ agentId: ids["patient"] }),
  runAgent: () => ({ input: { n: 1 }, wait: 5 }),
  rerunRun: () => ({ runId: ids["paused"] }),
  cancelRun: () => ({ runId: ids["cancelled"] }),
  cancelRuns: () => ({ runs: { filter: { agentId: [ids["patient"]] } } }),
  signalRun: () => ({ runId: ids["signalled"] }),
  reassignApproval: () => ({ approvalId: ids["reassigned"], assignees: ["role:owner"] }),
  deleteTrigger: () => ({ triggerId: ids["doomed"] }),
  deleteModelConnection: () => ({ modelConnectionId: ids["doomedConnection"] }),
};

/** No key may ask for it. */
const OF_SESSIONS = ["Query.sessions"];

/** The way to a field, from its root: `["Query.run", "Run.agent", "Agent.draft"]`. */
type Way = string[];

/** The shortest way to each field of each type. These two send nothing at the start, and answer what others do. */
const SILENT = [
  "Subscription.runsChanged",
  "Subscription.approvalsChanged",
  "Subscription.agentsChanged",
  "Subscription.firingsChanged",
  "Subscription.eventsChanged",
];
function waysFrom(roots: GraphQLObjectType[]): Way[] {
  const ways: Way[] = [];
  const seen = new Set(roots);
  let next = roots.map((type) => ({ type, way: [] as Way }));
  while (next.length > 0) {
    const reached = next.flatMap(({ type, way }) =>
      fieldsOf(type)
        .map((field) => ({ field, way: [...way, `${type.name}.${field.name}`] }))
        .filter((one) => !SILENT.includes(one.way[0]!)),
    );
    ways.push(...reached.map(({ way }) => way));
    next = reached.flatMap(({ field, way }) => {
      const type = getNamedType(field.type);
      if (!isObjectType(type) || seen.has(type)) return [];
      seen.add(type);
      return [{ type, way }];
    });
  }
  return ways;
}
const ways = waysFrom([schema.getQueryType()!, schema.getSubscriptionType()!]);

const fieldOf = (field: string): Field => {
  const [type, name] = field.split(".") as [string, string];
  return (schema.getType(type) as GraphQLObjectType).getFields()[name]!;
};

/** With the arguments that it must have. */
const asking = (operation: Operation, field: Field, selection: string): Question =>
  questionOf(operation, field, argumentsOf(field, ids, GIVEN[field.name]?.()), selection && `{ ${selection} }`);

const selectionOf = (field: string, rest: Way): string => {
  const [next, ...others] = rest;
  if (next !== undefined) {
    const inner = selectionOf(next, others);
    return `${fieldOf(next).name}${inner && ` { ${inner} }`}`;
  }
  return isCompositeType(getNamedType(fieldOf(field).type)) ? "__typename" : "";
};
const questionAt = ([root, ...rest]: Way): Question =>
  asking(root!.split(".")[0]!.toLowerCase() as Operation, fieldOf(root!), selectionOf(root!, rest));

const isScope = (need: Access["scope"] | undefined): need is Scope => ALL_SCOPES.includes(need as Scope);
const scopesOf = (way: Way): Scope[] => [...new Set(way.map((field) => access.get(field)?.scope).filter(isScope))];

describe("queries and subscriptions", () => {
  test("every type of the schema is reached, but for what only mutations answer", () => {
    const reached = new Set(ways.map((way) => way.at(-1)!.split(".")[0]));
    const all = Object.values(schema.getTypeMap()).filter((type) => isObjectType(type) && !type.name.startsWith("__"));
    expect(all.map(({ name }) => name).filter((name) => !reached.has(name))).toEqual([
      "LoginResult",
      "PasswordReset",
      "RevokeOtherSessionsResult",
      "ModelTest",
      "RunDraftField",
      "RunDraft",
      "CancelRunsResult",
      "DecisionRefusal",
      "DecisionResult",
      "DecideApprovalsResult",
      "Mutation",
    ]);
    expect(ways.length).toBeGreaterThan(150);
    expect(mutations.length).toBeGreaterThan(25);
  });

  test.for(ways.map((way) => ({ name: way.join(" > "), way })))("$name", async ({ way }) => {
    const question = questionAt(way);
    const scopes = scopesOf(way);
    const token = OF_SESSIONS.includes(way[0]!) ? accessToken : await keyWith(scopes);
    expect((await ask(question, token)).errors, question.query).toBeUndefined();
    for (const scope of scopes) {
      const { data, errors } = await ask(question, await keyWithout(scope));
      expect({ data, errors }, question.query).toEqual({ data: null, errors: [forbidden(scope)] });
    }
  });

  test("a subscription that sends nothing at the start needs its scope as well, over SSE and WebSocket", async () => {
    for (const field of SILENT) {
      const query = `subscription { ${field.split(".")[1]} { id } }`;
      const scope = field === "Subscription.agentsChanged" ? "agents:read" : "runs:read";
      const token = await keyWithout(scope);
      expect((await ask(query, token)).errors).toEqual([forbidden(scope)]);
      for await (const result of server.watch(query, {}, token)) expect(result.errors).toEqual([forbidden(scope)]);
    }
    const changes = server.watch("subscription { runsChanged { status } }", {}, await keyWith(["runs:read"]));
    const first = changes.next();
    // Until it has subscribed.
    const starting: Promise<string>[] = [];
    const stop = setInterval(() => starting.push(start(server, ids["three"]!, { n: 1 })), 50);
    expect((await first).value).toMatchObject({ data: { runsChanged: { status: expect.any(String) } } });
    clearInterval(stop);
    await Promise.all(starting);
    await changes.return?.();
  });

  test("runs:read has a run's plain names of its agent, and not its texts", async () => {
    const token = await keyWith(["runs:read"]);
    const names = `{ run(id: ${id("failed")}) { status error { detail } agent { id name handle version project { name } } } }`;
    expect((await server.data(names, {}, token)).run).toMatchObject({ status: "failed", agent: { handle: "failing" } });
    for (const text of [
      "definition",
      "draft { revision }",
      "versions { nodes { definition } }",
      "inputFields { name }",
    ]) {
      const { data, errors } = await ask(`{ me { id } run(id: ${id("failed")}) { agent { ${text} } } }`, token);
      expect({ data, errors }).toEqual({ data: null, errors: [forbidden("agents:read")] });
    }
  });

  test("nothing hides it: fragments, aliases, interfaces, a subscription's event, a WebSocket", async () => {
    const token = await keyWith(["runs:read"]);
    const run = id("failed");
    for (const query of [
      `{ a: run(id: ${run}) { ...A } } fragment A on Run { b: agent { ...B } } fragment B on Agent { c: draft { revision } }`,
      `{ ... on Query { run(id: ${run}) { ... { agent { ... on Node { ... on Agent { draft { revision } } } } } } } }`,
      `{ node(id: ${run}) { ... on Run { agent { draft { revision } } } } }`,
      `{ node(id: ${run}) { ... on Agent { draft { revision } } } }`,
      `{ run(id: ${run}) { agent { draft @skip(if: true) { revision } } } }`,
      `subscription { runUpdated(runId: ${run}) { agent { draft { revision } } } }`,
      `subscription { runEvents(runId: ${run}) { run { agent { ...B } } } } fragment B on Agent { draft { revision } }`,
    ]) {
      expect(await ask(query, token), query).toMatchObject({ data: null, errors: [forbidden("agents:read")] });
      for await (const result of server.watch(query, {}, token))
        expect(result, query).toMatchObject({ data: null, errors: [forbidden("agents:read")] });
    }
  });

  test("node(id) needs what the kind of the id needs", async () => {
    const kinds = {
      run: "failed",
      agent: "three",
      agentVersion: "version",
      project: "project",
      approval: "approval",
      trigger: "trigger",
      firing: "firing",
      event: "event",
      apiKey: "apiKey",
      secret: "secret",
    };
    const needs = {
      run: "runs:read",
      agent: "agents:read",
      agentVersion: "agents:read",
      project: "agents:read",
      approval: "runs:read",
      trigger: "agents:read",
      firing: "runs:read",
      event: "runs:read",
      secret: "secrets:write",
    } as const;
    for (const [kind, name] of Object.entries(kinds)) {
      const scope = needs[kind as keyof typeof needs] ?? "admin";
      const query = `{ node(id: ${id(name)}) { id __typename } }`;
      expect((await server.data(query, {}, await keyWith([scope]))).node.id).toBe(ids[name]);
      const { data, errors } = await ask(query, await keyWithout(scope));
      expect(data.node).toBeNull();
      expect(errors![0]).toMatchObject({ message: `this needs the scope ${scope}`, extensions: { code: "FORBIDDEN" } });
    }
    for (const name of ["user", "organization"])
      expect((await server.data(`{ node(id: ${id(name)}) { id } }`, {}, await keyWith([]))).node.id).toBe(ids[name]);
  });

  test("introspection and __typename need no scope", async () => {
    const data = await server.data(
      '{ __typename __schema { queryType { name } } __type(name: "Run") { fields { name } } }',
      {},
      await keyWith([]),
    );
    expect(data).toMatchObject({ __typename: "Query", __schema: { queryType: { name: "Query" } } });
  });
});

/** Scopes that callers give others: nobody grants more than they have. */
const GRANTED: Record<string, Iterable<Scope>> = {
  setMemberRole: ROLE_SCOPES.runner,
  inviteMember: ROLE_SCOPES.runner,
};
const mutations = [...access].flatMap(([field, { scope }]) =>
  field.startsWith("Mutation.") && isScope(scope) ? [{ name: field.slice("Mutation.".length), scope }] : [],
);
const mutation = (name: string, selection: string): Question =>
  asking("mutation", fieldOf(`Mutation.${name}`), selection);

/** Fields of a mutation's answer, told apart by whether its own scope is enough. */
function answerOf(name: string): { given: string[]; others: { field: string; scope: Scope }[] } {
  const type = getNamedType(fieldOf(`Mutation.${name}`).type);
  const given: string[] = [];
  const others: { field: string; scope: Scope }[] = [];
  if (!isObjectType(type)) return { given, others };
  const { scope: own, answers = [] } = access.get(`Mutation.${name}`)!;
  for (const { name: field, type: fieldType } of fieldsOf(type)) {
    const place = `${type.name}.${field}`;
    const need = access.get(place)?.scope;
    const selected = isCompositeType(getNamedType(fieldType)) ? `${field} { __typename }` : field;
    if (isScope(need) && need !== own && !answers.includes(place)) others.push({ field: selected, scope: need });
    else given.push(selected);
  }
  return { given, others };
}

/** All that the mutations above change. */
const state = (): Promise<Data> =>
  server.data(`{ organization { name } members(first: 100) { nodes { id role } } invitations { nodes { id } } projects { nodes { id } } apiKeys(first: 100) { nodes { id revokedAt } } secrets { nodes { id updatedAt } } triggers(first: 100) { nodes { id updatedAt } } runs(first: 100) { nodes { id status revision } }
    approvals { nodes { status } } agentsConnection { nodes { id status version draft { revision } concurrency updatedAt versions { nodes { version } } } } }`);

test("a caller without the scope is told so first, whatever the variables are", async () => {
  const query = "query($id: ID!) { run(id: $id) { id } }";
  const token = await keyWithout("runs:read");
  expect((await server.graphql(query, {}, token)).errors).toEqual([forbidden("runs:read")]);
  expect((await server.graphql(query, {}, null)).errors).toMatchObject([{ extensions: { code: "UNAUTHENTICATED" } }]);
  expect((await server.graphql(query)).errors).toMatchObject([{ extensions: { code: "BAD_USER_INPUT" } }]);
});

describe("mutations", () => {
  test("a refused mutation has changed nothing, whether the mutation's scope is missing or one of its answer", async () => {
    // Keys are made before what they may not change is looked at.
    for (const scope of ALL_SCOPES) await Promise.all([keyWith([scope]), keyWithout(scope)]);
    const token = await keyWith(["agents:write", "runs:start"]);
    const before = await state();
    let count = 0;
    for (const { name, scope } of mutations) {
      const { given, others } = answerOf(name);
      const refused = await ask(mutation(name, given.join(" ")), await keyWithout(scope));
      expect(refused, name).toMatchObject({ data: null, errors: [forbidden(scope)] });
      for (const other of others) {
        const { type } = fieldOf(`Mutation.${name}`);
        const { query, variables } = mutation(name, "...F");
        const hidden = `${query} fragment F on ${getNamedType(type).name} { a: ${other.field} }`;
        const answer = await ask({ query: hidden, variables }, await keyWith([scope]));
        expect(answer, `${name} ${other.field}`).toMatchObject({ data: null, errors: [forbidden(other.scope)] });
        count++;
      }
    }
    expect(count).toBeGreaterThan(40);
    const several = `mutation { setAgentLimit(input: {agentId: ${id("three")}, concurrency: 7}) { id } createProject(input: {handle: "nothing", name: "Nothing"}) { id } runAgent(${runThree()}) { agent { runs { nodes { id } } } } }`;
    expect((await ask(several, token)).errors).toEqual([forbidden("runs:read")]);
    expect(await state()).toEqual(before);
  });

  test("runs:start alone starts a run, waits for it and has its output and steps", async () => {
    const token = await keyWith(["runs:start"]);
    const { query, variables } = mutation(
      "runAgent",
      "id status input output error { detail } steps { name status output } agent { name }",
    );
    const { runAgent } = await server.data(query, variables, token);
    expect(runAgent).toMatchObject({ status: "completed", output: { n: 4 }, steps: [{ name: "one" }, {}, {}] });
    const { errors } = await ask(`{ run(id: "${runAgent.id}") { status } }`, token);
    expect(errors).toEqual([forbidden("runs:read")]);
  });

  test.for(mutations)("$name with $scope alone answers all that is its own", async ({ name, scope }) => {
    const { errors } = await ask(
      mutation(name, answerOf(name).given.join(" ")),
      await keyWith([scope, ...(GRANTED[name] ?? [])]),
    );
    expect(errors).toBeUndefined();
  });

  test("a login beside what needs a caller is not done without one", async () => {
    const { email, password } = server.world;
    const { data, errors } = await server.graphql(
      `mutation { login(email: "${email}", password: "${password}") { accessToken } runAgent(${runThree()}) { id } }`,
      {},
      null,
    );
    expect({ data, errors }).toMatchObject({ data: null, errors: [{ extensions: { code: "UNAUTHENTICATED" } }] });
  });
});
