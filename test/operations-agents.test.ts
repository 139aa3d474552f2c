/** Drafts, versions, going back to an old one, and what differs between them, over the wire. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type Data, type TestServer } from "./client.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

let names = 0;
const newName = (): string => `agent-${++names}`;
const textOf = (name: string, version: string, value = 1, title = ""): string =>
  `document:
  dsl: '1.0.3'
  namespace: test
  name: ${name}
  version: '${version}'
${title && `  title: ${title}\n`}do:
  - first:
      set:
        n: ${value}
`;

const AGENT = "id name handle status version definition draft versions { nodes { version definition } }";
const save = (definition: string, more: object = {}) =>
  server.graphql(`mutation($input: SaveAgentDraftInput!) { saveAgentDraft(input: $input) { ${AGENT} } }`, {
    input: { projectId: server.world.projectId, definition, ...more },
  });
const saved = async (definition: string, more: object = {}): Promise<Data> => {
  const { data, errors } = await save(definition, more);
  expect(errors).toBeUndefined();
  return data.saveAgentDraft;
};
const publish = async (definition: string): Promise<Data> =>
  (
    await server.data(`mutation($input: PublishAgentInput!) { publishAgent(input: $input) { ${AGENT} } }`, {
      input: { projectId: server.world.projectId, definition },
    })
  ).publishAgent;
const publishDraft = (agentId: string) =>
  server.graphql(`mutation($input: PublishDraftInput!) { publishDraft(input: $input) { ${AGENT} } }`, {
    input: { agentId },
  });
const publishVersion = (agentId: string, version: string) =>
  server.graphql(`mutation($input: PublishVersionInput!) { publishVersion(input: $input) { ${AGENT} } }`, {
    input: { agentId, version },
  });
const read = async (id: string): Promise<Data> =>
  (await server.data(`query($id: ID!) { agent(id: $id) { ${AGENT} } }`, { id })).agent;
const setStatus = (agentId: string, status: string) =>
  server.data(`mutation { setAgentStatus(input: {agentId: "${agentId}", status: ${status}}) { status } }`);

describe("a draft", () => {
  test("makes an agent that is shown by it, is listed, cannot be run, and is published", async () => {
    const name = newName();
    const text = textOf(name, "0.1.0", 1, "Order intake");
    const agent = await saved(text);
    expect(agent).toEqual({
      id: expect.stringMatching(/^agent_/),
      name: "Order intake",
      handle: name,
      status: "draft",
      version: "0.1.0",
      definition: null,
      draft: text,
      versions: { nodes: [] },
    });
    const { agents } = await server.data("{ agents { id name status version draft } }");
    expect(agents).toContainEqual({
      id: agent.id,
      name: "Order intake",
      status: "draft",
      version: "0.1.0",
      draft: text,
    });
    const { errors } = await server.graphql(`mutation { runAgent(input: {agentId: "${agent.id}"}) { id } }`);
    expect(errors![0]!.extensions.code).toBe("CONFLICT");
    const next = await saved(textOf(name, "0.2.0", 2), { agentId: agent.id });
    expect(next).toMatchObject({ id: agent.id, name, version: "0.2.0", draft: textOf(name, "0.2.0", 2) });
    const { data } = await publishDraft(agent.id);
    expect(data.publishDraft).toEqual({
      ...next,
      status: "active",
      definition: next.draft,
      draft: null,
      versions: { nodes: [{ version: "0.2.0", definition: next.draft }] },
    });
    const { runAgent } = await server.data(
      `mutation { runAgent(input: {agentId: "${agent.id}", wait: 10}) { output version } }`,
    );
    expect(runAgent).toEqual({ output: { n: 2 }, version: "0.2.0" });
  });

  test("of a published agent changes nothing of what is published", async () => {
    const name = newName();
    const first = await publish(textOf(name, "1.0.0", 1, "Before"));
    const text = textOf(name, "2.0.0", 2, "After");
    expect(await saved(text)).toEqual({ ...first, draft: text });
    expect(await read(first.id)).toEqual({ ...first, draft: text });
    const { data } = await publishDraft(first.id);
    expect(data.publishDraft).toMatchObject({ name: "After", version: "2.0.0", draft: null, status: "active" });
    expect(data.publishDraft.versions.nodes.map(({ version }: Data) => version)).toEqual(["2.0.0", "1.0.0"]);
    expect((await publishDraft(first.id)).errors![0]!.extensions.code).toBe("CONFLICT");
  });

  test("is done with when its text is published, and kept when another is", async () => {
    const name = newName();
    const { id } = await publish(textOf(name, "1.0.0"));
    const draft = textOf(name, "2.0.0", 2);
    await saved(draft);
    await publish(textOf(name, "1.1.0", 3));
    expect((await read(id)).draft).toBe(draft);
    await publish(draft);
    expect(await read(id)).toMatchObject({ version: "2.0.0", draft: null });
    // What is published already is no draft.
    await saved(textOf(name, "3.0.0"));
    expect((await saved(draft)).draft).toBeNull();
  });

  test("may be broken, and its problems are told when it is published; the draft stays", async () => {
    const name = newName();
    const text = textOf(name, "one").replace("set:", "sett:");
    const agent = await saved(text);
    expect(agent).toMatchObject({ status: "draft", version: "", draft: text });
    const { errors } = await publishDraft(agent.id);
    expect(errors![0]!.extensions).toMatchObject({
      code: "BAD_USER_INPUT",
      fields: expect.arrayContaining([
        expect.objectContaining({ path: "input.definition/document/version", code: "definition" }),
      ]),
    });
    expect(await read(agent.id)).toEqual(agent);
  });

  test.each([
    ["nothing", "", "input.definition"],
    ["what is no YAML", "document: {name: a\n]", "input.definition"],
    ["no name", "document: {namespace: test}", "input.definition/document/name"],
    ["a name that is none", "document: {namespace: test, name: A B}", "input.definition/document/name"],
    ["another namespace", "document: {namespace: other, name: a}", "input.definition/document/namespace"],
    ["a NUL", `${textOf("a", "1.0.0")}\u0000`, "input.definition"],
    ["half a megabyte", `${textOf("a", "1.0.0")}# ${"x".repeat(500_000)}`, "input.definition"],
  ])("with %s is refused and leaves nothing", async (_, text, path) => {
    const before = (await server.data("{ agents { id } }")).agents.length;
    const { errors } = await save(text);
    expect(errors![0]!.extensions).toMatchObject({ code: "BAD_USER_INPUT", fields: [{ path }] });
    expect((await server.data("{ agents { id } }")).agents).toHaveLength(before);
  });

  test("for an agent must have its name and its project", async () => {
    const { id } = await publish(textOf(newName(), "1.0.0"));
    const other = textOf(newName(), "1.0.0");
    expect((await save(other, { agentId: id })).errors![0]!.extensions).toMatchObject({
      code: "BAD_USER_INPUT",
      fields: [{ path: "input.definition/document/name", code: "definition" }],
    });
    const { createProject } = await server.data(
      'mutation { createProject(input: {handle: "elsewhere", name: "Elsewhere"}) { id } }',
    );
    const moved = other.replace("namespace: test", "namespace: elsewhere");
    expect((await save(moved, { agentId: id, projectId: createProject.id })).errors![0]!.extensions).toMatchObject({
      code: "BAD_USER_INPUT",
      fields: [{ path: "input.projectId", code: "differs" }],
    });
    expect((await read(id)).draft).toBeNull();
  });

  test("of an archived agent is refused, with what to do", async () => {
    const [never, once] = [newName(), newName()];
    const [draft, published] = [await saved(textOf(never, "1.0.0")), await publish(textOf(once, "1.0.0"))];
    for (const [agent, name, status] of [
      [draft, never, "draft"],
      [published, once, "active"],
    ] as const) {
      await setStatus(agent.id, "archived");
      const { errors } = await save(textOf(name, "2.0.0"));
      expect(errors![0]).toMatchObject({
        message: `the agent ${name} is archived: set its status to ${status} first`,
        extensions: { code: "CONFLICT" },
      });
      await setStatus(agent.id, status);
      expect((await saved(textOf(name, "2.0.0"))).version).toBe(agent === draft ? "2.0.0" : "1.0.0");
    }
  });

  test("of ten that are saved at once one agent is made", async () => {
    const name = newName();
    const made = await Promise.all(Array.from({ length: 10 }, (_, value) => saved(textOf(name, "1.0.0", value))));
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
  });
});

describe("publishVersion", () => {
  test("goes back to an old version, with its name, and keeps status, draft and versions", async () => {
    const name = newName();
    const { id } = await publish(textOf(name, "1.0.0", 1, "Old"));
    const second = await publish(textOf(name, "2.0.0", 2, "New"));
    const draft = textOf(name, "3.0.0", 3);
    await saved(draft);
    await setStatus(id, "paused");
    const { data } = await publishVersion(id, "1.0.0");
    expect(data.publishVersion).toEqual({
      ...second,
      name: "Old",
      status: "paused",
      version: "1.0.0",
      definition: textOf(name, "1.0.0", 1, "Old"),
      draft,
    });
    await setStatus(id, "active");
    const { runAgent } = await server.data(`mutation { runAgent(input: {agentId: "${id}", wait: 10}) { output } }`);
    expect(runAgent.output).toEqual({ n: 1 });
  });

  test("refuses what is no version, and an archived agent", async () => {
    const { id } = await publish(textOf(newName(), "1.0.0"));
    for (const version of ["9.9.9", "", "\u0000", "1.0.0 ", "x".repeat(10_000)]) {
      expect((await publishVersion(id, version)).errors).toEqual([
        expect.objectContaining({ message: "Version not found", extensions: { code: "NOT_FOUND" } }),
      ]);
    }
    await setStatus(id, "archived");
    expect((await publishVersion(id, "1.0.0")).errors![0]!.extensions.code).toBe("CONFLICT");
  });
});

describe("agentDiff", () => {
  const diff = async (agentId: string, more: object = {}): Promise<string> =>
    (
      await server.data(
        "query($agentId: ID!, $from: String, $to: String) { agentDiff(agentId: $agentId, from: $from, to: $to) }",
        { agentId, ...more },
      )
    ).agentDiff;

  test("tells what the draft changes, or one version of another", async () => {
    const name = newName();
    const { id } = await publish(textOf(name, "1.0.0"));
    expect(await diff(id)).toBe("");
    await publish(textOf(name, "1.1.0", 2));
    const changed = (from: string, to: string, lines: [string, string, string, string]): string =>
      `--- ${from}\n+++ ${to}\n@@ -2,8 +2,8 @@\n   dsl: '1.0.3'\n   namespace: test\n   name: ${name}\n` +
      `-  version: '${lines[0]}'\n+  version: '${lines[1]}'\n do:\n   - first:\n       set:\n-        n: ${lines[2]}\n+        n: ${lines[3]}\n`;
    expect(await diff(id, { from: "1.0.0" })).toBe(changed("1.0.0", "1.1.0", ["1.0.0", "1.1.0", "1", "2"]));
    expect(await diff(id, { from: "1.1.0", to: "1.0.0" })).toBe(
      changed("1.1.0", "1.0.0", ["1.1.0", "1.0.0", "2", "1"]),
    );
    await saved(textOf(name, "2.0.0", 3));
    expect(await diff(id)).toBe(changed("1.1.0", "draft", ["1.1.0", "2.0.0", "2", "3"]));
    expect(await diff(id, { to: "1.1.0" })).toBe("");
  });

  test("of an agent that was never published all is new", async () => {
    const text = textOf(newName(), "1.0.0");
    const { id } = await saved(text);
    const lines = text.trimEnd().split("\n");
    expect(await diff(id)).toBe(
      `--- /dev/null\n+++ draft\n@@ -0,0 +1,${lines.length} @@\n${lines.map((line) => `+${line}\n`).join("")}`,
    );
  });

  test("refuses what is no version", async () => {
    const { id } = await publish(textOf(newName(), "1.0.0"));
    for (const more of [{ from: "9.9.9" }, { to: "9.9.9" }, { from: "" }, { to: "\u0000" }]) {
      await expect(diff(id, more)).rejects.toThrow(/Version not found/);
    }
  });
});
