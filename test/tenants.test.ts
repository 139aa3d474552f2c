/**
 * Tenants never see each other. Generated from the schema: every argument that takes an id is asked with another
 * organization's id, an unknown one and malformed ones, and must answer the same NOT_FOUND word for word.
 */
import {
  getNamedType,
  isInputObjectType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
} from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSchema } from "../server/src/graphql/schema.ts";
import { encodeId, newId, type Kind } from "../server/src/lib/ids.ts";
import { DEFINITIONS, publish, start } from "./agents.ts";
import { eventually, type ShownError } from "./client.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";
import { call, webhookOf } from "./webhooks.ts";
import type { World } from "./server.ts";

const schema = createSchema();
const ROOTS = {
  query: schema.getQueryType()!,
  mutation: schema.getMutationType()!,
  subscription: schema.getSubscriptionType()!,
};

/** `runs(filter.agentId)`, with the kinds of id that it may be given. A new argument must be written here. */
const KINDS: Record<string, Kind[]> = {
  "query project(id)": ["project"],
  "query agent(id)": ["agent"],
  "query agentDiff(agentId)": ["agent"],
  "query agents(projectId)": ["project"],
  "query validateDefinition(projectId)": ["project"],
  "query agentsConnection(filter.projectId)": ["project"],
  "query run(id)": ["run"],
  "query runs(filter.projectId)": ["project"],
  "query runs(filter.agentId)": ["agent"],
  "query runs(filter.startedBy.id)": ["user", "apiKey", "trigger", "run"],
  "query runCount(filter.projectId)": ["project"],
  "query runCount(filter.agentId)": ["agent"],
  "query runCount(filter.startedBy.id)": ["user", "apiKey", "trigger", "run"],
  "query badges(projectId)": ["project"],
  "Agent.runs(filter.projectId)": ["project"],
  "Agent.runs(filter.agentId)": ["agent"],
  "Agent.runs(filter.startedBy.id)": ["user", "apiKey", "trigger", "run"],
  "query approval(id)": ["approval"],
  "query approvals(filter.projectId)": ["project"],
  "query approvals(filter.agentId)": ["agent"],
  "query approvals(filter.runId)": ["run"],
  "query trigger(id)": ["trigger"],
  "query triggers(filter.projectId)": ["project"],
  "query triggers(filter.agentId)": ["agent"],
  "query event(id)": ["event"],
  "query node(id)": [
    "organization",
    "user",
    "project",
    "agent",
    "agentVersion",
    "run",
    "approval",
    "trigger",
    "firing",
    "event",
    "apiKey",
    "secret",
    "member",
    "session",
    "auditEvent",
  ],
  "query auditEvents(filter.actorId)": ["user", "apiKey"],
  "query secrets(projectId)": ["project"],
  "mutation createTrigger(input.agentId)": ["agent"],
  "mutation updateTrigger(input.triggerId)": ["trigger"],
  "mutation setTriggerStatus(input.triggerId)": ["trigger"],
  "mutation deleteTrigger(input.triggerId)": ["trigger"],
  "mutation rotateWebhookToken(input.triggerId)": ["trigger"],
  "mutation fireTrigger(input.triggerId)": ["trigger"],
  "mutation replayFiring(input.firingId)": ["firing"],
  "mutation setSecret(input.projectId)": ["project"],
  "mutation deleteSecret(input.secretId)": ["secret"],
  "mutation refreshToken(input.organizationId)": ["organization"],
  "mutation revokeInvitation(input.invitationId)": ["invitation"],
  "mutation setMemberRole(input.memberId)": ["member"],
  "mutation removeMember(input.memberId)": ["member"],
  "mutation createApiKey(input.projectIds)": ["project"],
  "mutation createApiKey(input.agentIds)": ["agent"],
  "mutation revokeApiKey(input.apiKeyId)": ["apiKey"],
  "mutation revokeSession(input.sessionId)": ["session"],
  "mutation saveAgentDraft(input.projectId)": ["project"],
  "mutation saveAgentDraft(input.agentId)": ["agent"],
  "mutation publishAgent(input.projectId)": ["project"],
  "mutation publishAgentDraft(input.agentId)": ["agent"],
  "mutation publishAgentVersion(input.agentId)": ["agent"],
  "mutation setAgentStatus(input.agentId)": ["agent"],
  "mutation setAgentLimit(input.agentId)": ["agent"],
  "mutation draftRunInput(input.agentId)": ["agent"],
  "mutation runAgent(input.agentId)": ["agent"],
  "mutation runAgent(input.runDraftId)": ["runDraft"],
  "mutation rerunRun(input.runId)": ["run"],
  "mutation retryRun(input.runId)": ["run"],
  "mutation cancelRun(runId)": ["run"],
  "mutation cancelRuns(input.runs.filter.projectId)": ["project"],
  "mutation cancelRuns(input.runs.filter.agentId)": ["agent"],
  "mutation cancelRuns(input.runs.filter.startedBy.id)": ["user", "apiKey", "trigger", "run"],
  "mutation cancelRuns(input.runs.runIds)": ["run"],
  "mutation decideApproval(input.approvalId)": ["approval"],
  "subscription runUpdated(runId)": ["run"],
  "subscription runEvents(runId)": ["run"],
  "subscription runsChanged(projectId)": ["project"],
  "subscription runsChanged(agentId)": ["agent"],
  "subscription approvalsChanged(projectId)": ["project"],
  "subscription approvalsChanged(agentId)": ["agent"],
  "subscription agentsChanged(projectId)": ["project"],
  "subscription badgesChanged(projectId)": ["project"],
  "subscription firingsChanged(projectId)": ["project"],
  "subscription firingsChanged(agentId)": ["agent"],
  "subscription firingsChanged(triggerId)": ["trigger"],
};
/** Nothing is looked up by these: what started nothing here gives an empty list, whatever it is. */
const EMPTY = new Set([
  "query auditEvents(filter.actorId)",
  "query runs(filter.startedBy.id)",
  "query runCount(filter.startedBy.id)",
  "Agent.runs(filter.startedBy.id)",
  "mutation cancelRuns(input.runs.filter.startedBy.id)",
]);

/** How a type whose fields take ids is reached, from what is the caller's own. */
const WAYS: Record<string, () => string> = { Agent: () => `agent(id: "${own}")` };

type Operation = keyof typeof ROOTS;
/** `way`: what leads to a field that is not one of the roots'. */
type Place = {
  name: string;
  operation: Operation;
  field: GraphQLField<unknown, unknown>;
  path: string[];
  way?: () => string;
};

/** Paths of all arguments of type ID, into input objects. */
function idPaths(inputs: readonly (GraphQLArgument | GraphQLInputField)[]): string[][] {
  return inputs.flatMap(({ name, type }) => {
    const named = getNamedType(type);
    if (named.name === "ID") return [[name]];
    return isInputObjectType(named) ? idPaths(Object.values(named.getFields())).map((rest) => [name, ...rest]) : [];
  });
}

const roots: Place[] = Object.entries(ROOTS).flatMap(([operation, type]) =>
  Object.values(type.getFields()).flatMap((field) =>
    idPaths(field.args).map((path) => ({
      name: `${operation} ${field.name}(${path.join(".")})`,
      operation: operation as Operation,
      field,
      path,
    })),
  ),
);

const nested: Place[] = Object.values(schema.getTypeMap()).flatMap((type) =>
  "getFields" in type &&
  !Object.values(ROOTS).includes(type as never) &&
  !isInputObjectType(type) &&
  !type.name.startsWith("__")
    ? (Object.values(type.getFields()) as GraphQLField<unknown, unknown>[]).flatMap((field) =>
        idPaths(field.args).map((path) => ({
          name: `${type.name}.${field.name}(${path.join(".")})`,
          operation: "query" as const,
          field,
          path,
          way: WAYS[type.name]!,
        })),
      )
    : [],
);
const places = [...roots, ...nested];

let server: SharedServer;
let other: World;
let own: string;
let foreign: Record<Kind, string>;
let others: string[];
let ownSession: SignedIn;
beforeAll(async () => {
  server = await sharedServer();
  other = await server.organization("other");
  own = await publish(server, "echo");
  const asOther = other.apiKey;
  const agent = await publish(server, "approve", other);
  const run = await start(server, agent, {}, asOther);
  await eventually(
    async () => (await server.data(`{ run(id: "${run}") { status } }`, {}, asOther)).run.status === "paused",
  );
  const { setSecret } = await server.data(
    "mutation($input: SetSecretInput!) { setSecret(input: $input) { id } }",
    { input: { projectId: other.projectId, name: "theirs", value: "planted" } },
    asOther,
  );
  const hook = await webhookOf(server, agent, {}, asOther);
  // A list starts nothing, and leaves a firing.
  await call(hook.url, []);
  const [firing] = (await server.data(`{ trigger(id: "${hook.id}") { firings { nodes { id } } } }`, {}, asOther))
    .trigger.firings.nodes;
  const { publishEvent } = await server.data(
    'mutation { publishEvent(input: {source: "shop", event: "paid", id: "1"}) { id } }',
    {},
    asOther,
  );
  const { draftRunInput } = await server.data(
    'mutation { draftRunInput(input: {text: "n 1", timezone: "UTC"}) { id } }',
    {},
    asOther,
  );
  const { inviteMember } = await server.data("mutation { inviteMember(input: {role: viewer}) { id } }", {}, asOther);
  const { me, apiKeys, approvals, auditEvents } = await server.data(
    "{ me { id } auditEvents { nodes { id } } apiKeys { nodes { id } } approvals { nodes { id agent { agentVersion { id } } } } }",
    {},
    asOther,
  );
  foreign = {
    organization: other.organizationId,
    user: me.id,
    project: other.projectId,
    agent,
    agentVersion: approvals.nodes[0].agent.agentVersion.id,
    run,
    approval: approvals.nodes[0].id,
    trigger: hook.id,
    firing: firing.id,
    event: publishEvent.id,
    apiKey: apiKeys.nodes[0].id,
    secret: setSecret.id,
    member: me.id.replace("user", "member"),
    invitation: inviteMember.id,
    session: (await signIn(other)).sessionId,
    runDraft: draftRunInput.id,
    auditEvent: auditEvents.nodes[0].id,
  } as Record<Kind, string>;
  others = Object.values(foreign);
  ownSession = await signIn(server.world);
});
afterAll(() => server[Symbol.asyncDispose]());

/** The required arguments beside the id, so that nothing else is wrong. */
const restOf = (): Record<string, object> => ({
  setSecret: { name: "theirs", value: "mine" },
  createApiKey: { name: "narrow", scopes: ["runs:read"] },
  saveAgentDraft: { projectId: server.world.projectId, definition: DEFINITIONS.approve },
  publishAgent: { definition: DEFINITIONS.three },
  validateDefinition: { definition: DEFINITIONS.three },
  publishAgentVersion: { version: "1.0.0" },
  setMemberRole: { role: "viewer" },
  createTrigger: { name: "theirs", trigger: { type: "webhook" } },
  updateTrigger: { name: "mine" },
  setTriggerStatus: { status: "paused" },
  rotateWebhookToken: { overlapMinutes: 0 },
  fireTrigger: { payload: {} },
  setAgentStatus: { status: "paused" },
  setAgentLimit: { concurrency: 1 },
  draftRunInput: { text: "n 1", timezone: "UTC" },
  runAgent: { agentId: own, input: {} },
  decideApproval: { decision: "approve", answer: { costCentre: "office" } },
});

type SignedIn = { refreshToken: string; accessToken: string; sessionId: string };

async function signIn({ email, password }: World): Promise<SignedIn> {
  const { login } = await server.data(
    "mutation($email: String!, $password: String!) { login(email: $email, password: $password) { refreshToken accessToken } }",
    { email, password },
    null,
  );
  const { sessions } = await server.data("{ sessions(first: 1) { nodes { id } } }", {}, login.accessToken);
  return { ...login, sessionId: sessions.nodes[0].id };
}

async function ask(
  { operation, field, path, way }: Place,
  id: string,
  token?: string,
): Promise<{ data: unknown; errors: ShownError[] | undefined }> {
  const [first, ...within] = path as [string, ...string[]];
  const rest =
    field.name === "refreshToken" ? { refreshToken: (await signIn(server.world)).refreshToken } : restOf()[field.name];
  let value: unknown = id;
  for (const name of within.toReversed()) value = { [name]: value };
  if (rest && within.length > 0) value = { ...rest, ...(value as object) };
  const given: Record<string, unknown> = within.length > 0 ? { [first]: value } : { ...rest, [first]: value };
  const used = field.args.filter(({ name }) => Object.hasOwn(given, name));
  const variables = used.map(({ name, type }) => `$${name}: ${String(type)}`).join(", ");
  const values = used.map(({ name }) => `${name}: $${name}`).join(", ");
  const selection = "getFields" in getNamedType(field.type) ? "{ __typename }" : "";
  const asked = `${field.name}(${values}) ${selection}`;
  const query = `${operation}(${variables}) { ${way ? `${way()} { ${asked} }` : asked} }`;
  if (operation !== "subscription") {
    const { data, errors } = await server.graphql(query, given, token);
    return { data, errors };
  }
  for await (const { data } of server.events(query, given, token)) return { data: data.data, errors: data.errors };
  throw new Error("no answer");
}

test("the table above names every argument that takes an id", () => {
  expect(places.map(({ name }) => name).toSorted()).toEqual(Object.keys(KINDS).toSorted());
});

const cases = places.flatMap((place) =>
  // A missing one fails the test above, which names it.
  (KINDS[place.name] ?? []).map((kind) => ({ title: `${place.name} with a foreign ${kind}`, place, kind })),
);

test.for(cases)("$title", async ({ place, kind }) => {
  const unknown = encodeId(kind, newId());
  // A key has no sessions.
  const token = kind === "session" ? ownSession.accessToken : undefined;
  const expected = await ask(place, unknown, token);
  if (!EMPTY.has(place.name)) {
    expect(expected.errors).toEqual([
      expect.objectContaining({ extensions: expect.objectContaining({ code: "NOT_FOUND" }) }),
    ]);
    expect(expected.errors![0]!.message).not.toContain(unknown);
  }
  expect(await ask(place, foreign[kind], token)).toEqual(expected);
  const otherKind =
    place.name === "query node(id)" ? foreign[kind].replace("_", "") : foreign[kind === "run" ? "agent" : "run"];
  for (const malformed of [
    otherKind,
    foreign[kind].toUpperCase(),
    `${foreign[kind]}0`,
    "",
    "null",
    "\u0000",
    newId(),
  ]) {
    const answer = await ask(place, malformed, token);
    if (place.name === "query node(id)") expect(answer.errors![0]!.extensions.code, malformed).toBe("NOT_FOUND");
    else expect(answer, malformed).toEqual(expected);
  }
});

test("no list shows anything of another organization, with or without its ids as cursors", async () => {
  const lists = (after: string): string => `{
    organization { id }
    agents { id } projects(after: ${after}) { nodes { id } }
  }`;
  const own = await server.data(lists("null"));
  const theirs = await server.data(lists("null"), {}, other.apiKey);
  expect(JSON.stringify(theirs)).toContain(other.projectId);
  expect(others.filter((id) => JSON.stringify(own).includes(id))).toEqual([]);
  const fields: [string, Kind][] = [
    ["projects", "project"],
    ["agentsConnection", "agent"],
    ["runs", "run"],
    ["approvals", "approval"],
    ["apiKeys", "apiKey"],
    ["triggers", "trigger"],
    ["events", "event"],
    ["secrets", "secret"],
    ["members", "member"],
    ["invitations", "invitation"],
  ];
  for (const [field, kind] of fields) {
    const edges = `query { ${field} { edges { cursor node { id } } } }`;
    const theirEdges: { cursor: string; node: { id: string } }[] = (await server.data(edges, {}, other.apiKey))[field]
      .edges;
    const cursor = theirEdges.find(({ node }) => node.id === foreign[kind])!.cursor;
    for (const after of [null, cursor]) {
      const answer = await server.data(`query($after: String) { ${field}(after: $after) { nodes { id } } }`, { after });
      expect(
        others.filter((id) => JSON.stringify(answer).includes(id)),
        field,
      ).toEqual([]);
    }
    expect(JSON.stringify(await server.data(`{ ${field} { nodes { id } } }`, {}, other.apiKey))).toContain(
      foreign[kind],
    );
  }
});

test("what was asked in vain changed nothing for its owner", async () => {
  const { run, agent, approval, members, apiKeys, secrets, triggers } = await server.data(
    `{ run(id: "${foreign.run}") { status } agent(id: "${foreign.agent}") { status draft { revision } concurrency runs { nodes { id } } } approval(id: "${foreign.approval}") { status } members { nodes { role } } apiKeys { nodes { revokedAt } } secrets { nodes { id updatedBy { kind } } } triggers { nodes { name status } } }`,
    {},
    other.apiKey,
  );
  expect({ run, agent, approval, members, apiKeys, secrets, triggers }).toEqual({
    run: { status: "paused" },
    agent: { status: "active", draft: null, concurrency: null, runs: { nodes: [{ id: foreign.run }] } },
    approval: { status: "open" },
    members: { nodes: [{ role: "owner" }] },
    apiKeys: { nodes: [{ revokedAt: null }] },
    secrets: { nodes: [{ id: foreign.secret, updatedBy: { kind: "key" } }] },
    triggers: { nodes: [{ name: "hook", status: "active" }] },
  });
});

test("an idempotency key belongs to its organization and agent", async () => {
  const run = async (agentId: string, token: string): Promise<string> =>
    (
      await server.data(
        "mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }",
        { input: { agentId, idempotencyKey: "shared" } },
        token,
      )
    ).runAgent.id;
  const mine = await publish(server, "echo");
  const theirs = await publish(server, "echo", other);
  expect(await run(mine, server.world.apiKey)).not.toBe(await run(theirs, other.apiKey));
});
