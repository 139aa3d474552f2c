/** Cursors of every list over the wire: opaque, of one list only, and with them each item comes exactly once. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { publish, start } from "./agents.ts";
import { agentOf, until } from "./runs.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

type Edge = { cursor: string; node: Record<string, unknown> };
type Connection = {
  edges: Edge[];
  pageInfo: { startCursor: string | null; endCursor: string | null; hasNextPage: boolean };
};

let server: SharedServer;
/** The query of each list: `?` stands for its arguments. */
const lists: Record<string, string> = {};
const KEYS: Record<string, string> = { versions: "version", steps: "number", otherSteps: "number" };

const VERSIONED = (version: string): string =>
  `document: {dsl: '1.0.3', namespace: test, name: many, version: '${version}'}\ndo: [{one: {set: {n: '${version}'}}}]`;

beforeAll(async () => {
  server = await sharedServer();
  const three = await publish(server, "three");
  const approve = await publish(server, "approve");
  for (const handle of ["b", "c"]) {
    await server.data(`mutation { createProject(input: {handle: "${handle}", name: "${handle}"}) { id } }`);
  }
  for (const version of ["1.0.0", "1.1.0", "1.2.0"]) {
    await server.data("mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }", {
      input: { projectId: server.world.projectId, definition: VERSIONED(version) },
    });
  }
  const many = (await server.data("{ agents { id handle } }")).agents.find(
    ({ handle }: { handle: string }) => handle === "many",
  ).id as string;
  const child = "{run: {workflow: {namespace: test, name: many, version: '1.0.0'}}}";
  const parent = await agentOf(server, `do: [{a: ${child}}, {b: ${child}}, {c: ${child}}]`, "parent");
  const asks = await agentOf(
    server,
    `do: [{ask: {fork: {branches: [${["x", "y", "z"]
      .map((name) => `{${name}: {call: 'approval:1.0.0@default', with: {question: '${name}?'}}}`)
      .join(", ")}]}}}]`,
    "asks",
  );
  const [run, other, family, asking, approving] = await Promise.all([
    start(server, three, { n: 1 }),
    start(server, three, { n: 2 }),
    start(server, parent),
    start(server, asks),
    start(server, approve),
  ]);
  Object.assign(lists, {
    projects: "projects?",
    apiKeys: "apiKeys?",
    agents: "agentsConnection?",
    agentsByName: "agentsConnection(order: name)?",
    versions: `agent(id: "${many}") { versions? }`,
    runs: "runs?",
    agentRuns: `agent(id: "${many}") { runs? }`,
    otherAgentRuns: `agent(id: "${three}") { runs? }`,
    children: `run(id: "${family}") { children? }`,
    approvals: "approvals?",
    runApprovals: `run(id: "${asking}") { approvals? }`,
    steps: `run(id: "${run}") { stepsConnection? }`,
    otherSteps: `run(id: "${other}") { stepsConnection? }`,
  });
  for (let count = 0; count < 2; count++) {
    await server.data(`mutation { createApiKey(input: {name: "${count}", scopes: ["runs:read"]}) { id } }`);
  }
  // Nothing is added to any list from then on.
  for (const id of [run, other, family]) await until(server, id, "completed");
  for (const id of [asking, approving]) await until(server, id, "paused");
});
afterAll(() => server[Symbol.asyncDispose]());

const ask = (name: string, page: { first?: number; after?: string | null }) =>
  server.graphql(
    `query($first: Int, $after: String) { ${lists[name]!.replace(
      /\)?\?/,
      (end) =>
        `${end === "?" ? "(" : ", "}first: $first, after: $after) { edges { cursor node { ${KEYS[name] ?? "id"} } } pageInfo { startCursor endCursor hasNextPage } }`,
    )} }`,
    page,
  );

async function read(name: string, page: { first?: number; after?: string | null }): Promise<Connection> {
  const { data, errors } = await ask(name, page);
  expect(errors, name).toBeUndefined();
  let value = data;
  while (!("edges" in value)) value = Object.values(value)[0] as never;
  return value;
}

const NAMES =
  "projects apiKeys agents agentsByName versions runs agentRuns otherAgentRuns children approvals runApprovals steps otherSteps".split(
    " ",
  );

describe.each(NAMES)("%s", (name) => {
  test("page by page, each item comes once, and a page names its first and last cursor", async () => {
    const all = await read(name, {});
    expect(all.edges.length).toBeGreaterThan(1);
    expect(all.pageInfo.hasNextPage).toBe(false);
    const found: Edge[] = [];
    for (let after: string | null = null, hasNextPage = true; hasNextPage;) {
      const { edges, pageInfo } = await read(name, { first: 2, after });
      expect(pageInfo).toMatchObject({ startCursor: edges[0]!.cursor, endCursor: edges.at(-1)!.cursor });
      found.push(...edges);
      ({ endCursor: after, hasNextPage } = pageInfo);
    }
    expect(found).toEqual(all.edges);
    const beyond = await read(name, { after: all.pageInfo.endCursor });
    expect(beyond).toEqual({ edges: [], pageInfo: { startCursor: null, endCursor: null, hasNextPage: false } });
  });

  test("a cursor shows no id, and nothing but a cursor of this list is taken", async () => {
    const { edges } = await read(name, {});
    const own = edges[0]!;
    const key = String(own.node[KEYS[name] ?? "id"]);
    expect(own.cursor).toMatch(/^[A-Za-z0-9_-]+$/);
    // The digit of a step's number may stand in any text.
    expect(key.length > 1 && own.cursor.includes(key)).toBe(false);
    const others = await Promise.all(
      NAMES.filter((other) => other !== name).map(async (other) => (await read(other, {})).edges[0]!.cursor),
    );
    const encoded = (text: string): string => Buffer.from(text).toString("base64url");
    const text = Buffer.from(own.cursor, "base64url").toString();
    const made = [key, "", " ", "1", `${own.cursor}=`, ` ${own.cursor}`, encoded(key), encoded(text.split(" ")[0]!)];
    const lists = name === "versions" ? [] : [encoded(`${text}0`.toUpperCase()), encoded(text.replace(/.$/, "!"))];
    for (const after of [...others, ...made, ...lists]) {
      const { errors } = await ask(name, { after });
      expect(errors?.[0]!.extensions, after).toMatchObject({
        code: "BAD_USER_INPUT",
        fields: [{ path: "after", code: "invalid" }],
      });
    }
  });
});
