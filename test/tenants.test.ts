/**
 * Tenants never see each other. Generated from the schema: every argument that takes an id is asked with another
 * organization's id, an unknown one and malformed ones, and must answer the same NOT_FOUND word for word.
 */
import { getNamedType, isCompositeType, isInterfaceType, isObjectType } from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { encodeId, newId, type Kind } from "../server/src/lib/ids.ts";
import { publish, start } from "./agents.ts";
import { eventually, type ShownError } from "./client.ts";
import {
  argumentsWith,
  fieldsOf,
  idPlaces,
  questionOf,
  ROOT_PLACES,
  ROOTS,
  schema,
  type IdPlace,
} from "./root-fields.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";
import { call, webhookOf } from "./webhooks.ts";
import type { World } from "./server.ts";

/** Nothing is looked up by these: what started nothing here gives an empty list, whatever it is. */
const EMPTY = new Set([
  "query auditEvents(filter.actorId)",
  "query runs(filter.startedBy.id)",
  "query runCount(filter.startedBy.id)",
  "Agent.runs(filter.startedBy.id)",
  "mutation cancelRuns(input.runs.filter.startedBy.id)",
]);

/** Each id has a result of its own, which says NOT_FOUND (test/approvals-many.test.ts). */
const EACH_BY_ITSELF = new Set(["mutation decideApprovals(input.approvalIds)"]);

/** How a type whose fields take ids is reached, from what is the caller's own. */
const WAYS: Record<string, () => string> = { Agent: () => `agent(id: "${own}")` };

/** `way`: what leads to a field that is not one of the roots'. */
type Place = IdPlace & { way?: () => string };

const nested: Place[] = Object.values(schema.getTypeMap()).flatMap((type) =>
  (isObjectType(type) || isInterfaceType(type)) &&
  !Object.values(ROOTS).some((root) => root === type) &&
  !type.name.startsWith("__")
    ? fieldsOf(type)
        .flatMap((field) => idPlaces("query", `${type.name}.`, field))
        .map((place) => ({ ...place, way: WAYS[type.name]! }))
    : [],
);
const places: Place[] = [...ROOT_PLACES, ...nested];

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
  const { createModelConnection } = await server.data(
    "mutation($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }",
    { input: { projectId: other.projectId, name: "theirs", provider: "openai", model: "m" } },
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
    modelConnection: createModelConnection.id,
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
  place: Place,
  id: string,
  token?: string,
): Promise<{ data: unknown; errors: ShownError[] | undefined }> {
  const { operation, field, way } = place;
  const session = field.name === "refreshToken" ? { refreshToken: (await signIn(server.world)).refreshToken } : {};
  const { query, variables } = questionOf(
    operation,
    field,
    argumentsWith(place, id, { agent: own }, session),
    isCompositeType(getNamedType(field.type)) ? "{ __typename }" : "",
    (asked) => (way ? `${way()} { ${asked} }` : asked),
  );
  if (operation !== "subscription") {
    const { data, errors } = await server.graphql(query, variables, token);
    return { data, errors };
  }
  for await (const { data } of server.events(query, variables, token)) return { data: data.data, errors: data.errors };
  throw new Error("no answer");
}

const cases = places.flatMap((place) =>
  // A step's id holds its run's.
  place.kinds.flatMap((kind) =>
    kind === "step" ? [] : [{ title: `${place.name} with a foreign ${kind}`, place, kind }],
  ),
);

test("every argument that takes an id is asked", () => {
  expect(cases.length).toBeGreaterThan(100);
  expect([...EMPTY, ...EACH_BY_ITSELF].filter((name) => !places.some((place) => place.name === name))).toEqual([]);
});

test.for(cases)("$title", async ({ place, kind }) => {
  const unknown = encodeId(kind, newId());
  // A key has no sessions.
  const token = kind === "session" ? ownSession.accessToken : undefined;
  const expected = await ask(place, unknown, token);
  if (!EMPTY.has(place.name) && !EACH_BY_ITSELF.has(place.name)) {
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

test("refused requests changed nothing for the owner", async () => {
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
