/** Finding agents: by a filter, by a part of their name, by their handles; over the wire. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Data } from "./client.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

let server: SharedServer;
let other: string;
const titles: Record<string, string> = {
  "order-intake": "Order Intake",
  "order-export": "Ausfuhr für ÄRZTE",
  percent: "50% off_all \\ 'quoted'",
  plain: "500 offXall",
};

beforeAll(async () => {
  server = await sharedServer();
  const made = await server.data('mutation { createProject(input: {handle: "second", name: "Second"}) { id } }');
  other = made.createProject.id;
  for (const [handle, title] of Object.entries(titles)) await publish("test", handle, title);
  await publish("second", "plain", "Order in another project");
});
afterAll(() => server[Symbol.asyncDispose]());

async function publish(namespace: string, handle: string, title: string): Promise<Data> {
  const document = { dsl: "1.0.3", namespace, name: handle, version: "1.0.0", title };
  const definition = JSON.stringify({ document, do: [{ one: { set: { n: 1 } } }] });
  const mutation = "mutation($definition: String!) { publishAgent(input: {definition: $definition}) { id } }";
  return (await server.data(mutation, { definition })).publishAgent;
}

const LIST =
  "query($filter: AgentFilter, $after: String) { agentsConnection(filter: $filter, first: 2, after: $after) { nodes { handle project { handle } } pageInfo { hasNextPage endCursor } } }";
/** The runs of all pages, oldest first. */
async function find(filter: object | null): Promise<string[]> {
  const found: string[] = [];
  for (let after: string | null = null; ;) {
    const { agentsConnection }: Data = await server.data(LIST, { filter, after });
    for (const { handle, project } of agentsConnection.nodes) found.unshift(`${project.handle}/${handle}`);
    if (!agentsConnection.pageInfo.hasNextPage) return found;
    after = agentsConnection.pageInfo.endCursor;
  }
}
const refusal = async (filter: object): Promise<Data> => (await server.graphql(LIST, { filter })).errors?.[0];

describe("agentsConnection(filter:)", () => {
  test.each([
    ["a part of the name, in any case", "order IN", ["test/order-intake", "second/plain"]],
    ["letters beyond ASCII in any case", "FÜR ärzte", ["test/order-export"]],
    ["the same letters written as two characters", "A\u0308rzte", ["test/order-export"]],
    ["a part of the handle, in any case", "Order-", ["test/order-intake", "test/order-export"]],
    ["a percent sign as what it is", "50%", ["test/percent"]],
    ["an underscore as what it is", "off_all", ["test/percent"]],
    ["a backslash as what it is", "\\", ["test/percent"]],
    ["a quote as what it is", "'", ["test/percent"]],
    ["what nobody has", "nobody", []],
    ["200 characters", "x".repeat(200), []],
  ])("text: %s", async (_, text, expected) => {
    expect(await find({ text })).toEqual(expected);
  });

  test("an empty text, null and nothing select all", async () => {
    const all = await find(null);
    expect(all).toHaveLength(5);
    for (const filter of [{}, { text: "" }, { text: null, projectId: null, status: null }])
      expect(await find(filter)).toEqual(all);
  });

  test.each([
    ["a text that is too long", "x".repeat(201), "too_long"],
    ["a NUL", "a\u0000", "invalid"],
    ["half of a surrogate pair", "\ud800", "invalid"],
  ])("%s is refused", async (_, text, code) => {
    expect((await refusal({ text })).extensions).toMatchObject({
      code: "BAD_USER_INPUT",
      fields: [{ path: "filter.text", code }],
    });
  });

  test("lists of projects and states, one of them as it is, none for none, and all together", async () => {
    const { projectId } = server.world;
    expect(await find({ projectId: other })).toEqual(["second/plain"]);
    expect(await find({ projectId: [other, projectId, other] })).toHaveLength(5);
    expect(await find({ projectId: [] })).toEqual([]);
    expect(await find({ status: [] })).toEqual([]);
    const { agentByHandle } = await server.data('{ agentByHandle(project: "test", agent: "percent") { id } }');
    await server.data(`mutation { setAgentStatus(input: {agentId: "${agentByHandle.id}", status: archived}) { id } }`);
    expect(await find({ status: "archived" })).toEqual(["test/percent"]);
    expect(await find({ status: ["archived", "active"] })).toHaveLength(5);
    expect(await find({ status: "active", projectId, text: "off" })).toEqual(["test/plain"]);
  });

  test("at most 100 projects, each of which must be there", async () => {
    const ids = (count: number) => Array.from({ length: count }, () => other);
    expect((await refusal({ projectId: ids(101) })).extensions.code).toBe("BAD_USER_INPUT");
    expect(await refusal({ projectId: ids(100) })).toBeUndefined();
    expect(await refusal({ projectId: [other, other.replace(/.{3}$/, "000")] })).toMatchObject({
      message: "Project not found",
      extensions: { code: "NOT_FOUND" },
    });
  });
});

describe("agentByHandle", () => {
  const ask = (project: string, agent: string, token?: string) =>
    server.graphql(
      "query($project: String!, $agent: String!) { agentByHandle(project: $project, agent: $agent) { name project { handle } } }",
      { project, agent },
      token,
    );

  test("is the agent of both handles", async () => {
    expect((await ask("second", "plain")).data).toEqual({
      agentByHandle: { name: "Order in another project", project: { handle: "second" } },
    });
    expect((await ask("test", "plain")).data.agentByHandle.name).toBe("500 offXall");
  });

  test("is NOT_FOUND in the same words, whatever is missing or foreign", async () => {
    const { apiKey } = await server.organization("stranger");
    await server.data('mutation { createProject(input: {handle: "second", name: "Theirs"}) { id } }', {}, apiKey);
    expect((await ask("second", "plain")).data.agentByHandle.project.handle).toBe("second");
    const answers = [
      await ask("second", "order-intake"),
      await ask("third", "plain"),
      await ask("Test", "plain"),
      await ask("test", "\u0000"),
      await ask("\ud800", "plain"),
      await ask("test", "x".repeat(10_000)),
      await ask("second", "plain", apiKey),
    ];
    for (const { errors } of answers)
      expect(errors).toMatchObject([{ message: "Agent not found", extensions: { code: "NOT_FOUND" } }]);
  });
});
