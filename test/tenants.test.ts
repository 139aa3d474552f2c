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
import { eventually, startTestServer, type ShownError, type TestServer } from "./client.ts";
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
  "query agentsConnection(projectId)": ["project"],
  "query run(id)": ["run"],
  "query runs(filter.projectId)": ["project"],
  "query runs(filter.agentId)": ["agent"],
  "query runs(filter.startedBy.id)": ["user", "apiKey", "run"],
  "query approval(id)": ["approval"],
  "query approvals(filter.projectId)": ["project"],
  "query approvals(filter.agentId)": ["agent"],
  "query approvals(filter.runId)": ["run"],
  "query node(id)": ["organization", "user", "project", "agent", "run", "approval", "apiKey"],
  "mutation refreshToken(input.organizationId)": ["organization"],
  "mutation revokeApiKey(input.apiKeyId)": ["apiKey"],
  "mutation saveAgentDraft(input.projectId)": ["project"],
  "mutation saveAgentDraft(input.agentId)": ["agent"],
  "mutation publishAgent(input.projectId)": ["project"],
  "mutation publishDraft(input.agentId)": ["agent"],
  "mutation publishVersion(input.agentId)": ["agent"],
  "mutation setAgentStatus(input.agentId)": ["agent"],
  "mutation setAgentLimit(input.agentId)": ["agent"],
  "mutation runAgent(input.agentId)": ["agent"],
  "mutation rerunRun(input.runId)": ["run"],
  "mutation retryRun(input.runId)": ["run"],
  "mutation cancelRun(runId)": ["run"],
  "mutation cancelRuns(input.filter.projectId)": ["project"],
  "mutation cancelRuns(input.filter.agentId)": ["agent"],
  "mutation cancelRuns(input.filter.startedBy.id)": ["user", "apiKey", "run"],
  "mutation decideApproval(input.approvalId)": ["approval"],
  "subscription runUpdated(runId)": ["run"],
  "subscription runEvents(runId)": ["run"],
  "subscription runsChanged(projectId)": ["project"],
  "subscription runsChanged(agentId)": ["agent"],
  "subscription approvalsChanged(projectId)": ["project"],
  "subscription approvalsChanged(agentId)": ["agent"],
};
/** Nothing is looked up by these: what started nothing here gives an empty list, whatever it is. */
const EMPTY = new Set(["query runs(filter.startedBy.id)", "mutation cancelRuns(input.filter.startedBy.id)"]);

type Operation = keyof typeof ROOTS;
type Place = { name: string; operation: Operation; field: GraphQLField<unknown, unknown>; path: string[] };

/** Paths of all arguments of type ID, into input objects. */
function idPaths(inputs: readonly (GraphQLArgument | GraphQLInputField)[]): string[][] {
  return inputs.flatMap(({ name, type }) => {
    const named = getNamedType(type);
    if (named.name === "ID") return [[name]];
    return isInputObjectType(named) ? idPaths(Object.values(named.getFields())).map((rest) => [name, ...rest]) : [];
  });
}

const places: Place[] = Object.entries(ROOTS).flatMap(([operation, type]) =>
  Object.values(type.getFields()).flatMap((field) =>
    idPaths(field.args).map((path) => ({
      name: `${operation} ${field.name}(${path.join(".")})`,
      operation: operation as Operation,
      field,
      path,
    })),
  ),
);

/** Fields of every type that take an id would be asked in vain from the roots. */
const nested = Object.values(schema.getTypeMap()).flatMap((type) =>
  "getFields" in type &&
  !Object.values(ROOTS).includes(type as never) &&
  !isInputObjectType(type) &&
  !type.name.startsWith("__")
    ? (Object.values(type.getFields()) as GraphQLField<unknown, unknown>[])
        .filter(({ args }) => idPaths(args).length > 0)
        .map(({ name }) => `${type.name}.${name}`)
    : [],
);

let server: TestServer;
let other: World;
let foreign: Record<Kind, string>;
let others: string[];
beforeAll(async () => {
  server = await startTestServer();
  other = await server.organization("other");
  const asOther = other.apiKey;
  const agent = await publish(server, "approve", other);
  const run = await start(server, agent, {}, asOther);
  await eventually(
    async () => (await server.data(`{ run(id: "${run}") { status } }`, {}, asOther)).run.status === "paused",
  );
  const { me, apiKeys, approvals } = await server.data(
    "{ me { id } apiKeys { nodes { id } } approvals { nodes { id } } }",
    {},
    asOther,
  );
  foreign = {
    organization: other.organizationId,
    user: me.id,
    project: other.projectId,
    agent,
    run,
    approval: approvals.nodes[0].id,
    apiKey: apiKeys.nodes[0].id,
  } as Record<Kind, string>;
  others = Object.values(foreign);
});
afterAll(() => server[Symbol.asyncDispose]());

/** What is required beside the id, so that nothing else is wrong. */
const restOf = (): Record<string, object> => ({
  saveAgentDraft: { projectId: server.world.projectId, definition: DEFINITIONS.approve },
  publishAgent: { definition: DEFINITIONS.three },
  publishVersion: { version: "1.0.0" },
  setAgentStatus: { status: "paused" },
  setAgentLimit: { concurrency: 1 },
  runAgent: { input: {} },
  decideApproval: { decision: "approve", answer: { costCentre: "office" } },
});

async function refreshToken(): Promise<string> {
  const { email, password } = server.world;
  const { login } = await server.data(
    "mutation($email: String!, $password: String!) { login(email: $email, password: $password) { refreshToken } }",
    { email, password },
    null,
  );
  return login.refreshToken;
}

async function ask(
  { operation, field, path }: Place,
  id: string,
): Promise<{ data: unknown; errors: ShownError[] | undefined }> {
  const [first, ...within] = path as [string, ...string[]];
  const rest = field.name === "refreshToken" ? { refreshToken: await refreshToken() } : restOf()[field.name];
  let value: unknown = id;
  for (const name of within.toReversed()) value = { [name]: value };
  if (rest) value = { ...rest, ...(value as object) };
  const type = String(field.args.find(({ name }) => name === first)!.type);
  const selection = "getFields" in getNamedType(field.type) ? "{ __typename }" : "";
  const query = `${operation}($value: ${type}) { ${field.name}(${first}: $value) ${selection} }`;
  if (operation !== "subscription") {
    const { data, errors } = await server.graphql(query, { value });
    return { data, errors };
  }
  for await (const { data } of server.events(query, { value })) return { data: data.data, errors: data.errors };
  throw new Error("no answer");
}

test("the table above names every argument that takes an id", () => {
  expect(places.map(({ name }) => name).toSorted()).toEqual(Object.keys(KINDS).toSorted());
  expect(nested).toEqual([]);
});

const cases = places.flatMap((place) =>
  KINDS[place.name]!.map((kind) => ({ title: `${place.name} with a foreign ${kind}`, place, kind })),
);

test.for(cases)("$title", async ({ place, kind }) => {
  const unknown = encodeId(kind, newId());
  const expected = await ask(place, unknown);
  if (!EMPTY.has(place.name)) {
    expect(expected.errors).toEqual([expect.objectContaining({ extensions: { code: "NOT_FOUND" } })]);
    expect(expected.errors![0]!.message).not.toContain(unknown);
  }
  expect(await ask(place, foreign[kind])).toEqual(expected);
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
    const answer = await ask(place, malformed);
    if (place.name === "query node(id)") expect(answer.errors![0]!.extensions.code, malformed).toBe("NOT_FOUND");
    else expect(answer, malformed).toEqual(expected);
  }
});

test("no list shows anything of another organization, with or without its ids as cursors", async () => {
  const lists = (after: string): string => `{
    me { organization { id } projects { nodes { id } } }
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
  ];
  for (const [field, kind] of fields) {
    for (const after of [null, foreign[kind]]) {
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
  const { run, agent, approval, apiKeys } = await server.data(
    `{ run(id: "${foreign.run}") { status } agent(id: "${foreign.agent}") { status draft concurrency runs { nodes { id } } } approval(id: "${foreign.approval}") { status } apiKeys { nodes { revokedAt } } }`,
    {},
    other.apiKey,
  );
  expect({ run, agent, approval, apiKeys }).toEqual({
    run: { status: "paused" },
    agent: { status: "active", draft: null, concurrency: null, runs: { nodes: [{ id: foreign.run }] } },
    approval: { status: "open" },
    apiKeys: { nodes: [{ revokedAt: null }] },
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
