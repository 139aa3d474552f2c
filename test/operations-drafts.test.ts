/** Drafts: saved, replaced, fought over and published, over the wire. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Data } from "./client.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
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
${title && `  title: ${title}\n  summary: About ${title}\n`}do:
  - first:
      set:
        n: ${value}
`;

const AGENT =
  "id name description handle status version definition draft { definition revision } versions { nodes { version definition } }";
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
const publishAgentDraft = (agentId: string) =>
  server.graphql(`mutation($input: PublishAgentDraftInput!) { publishAgentDraft(input: $input) { ${AGENT} } }`, {
    input: { agentId },
  });
const read = async (id: string): Promise<Data> =>
  (await server.data(`query($id: ID!) { agent(id: $id) { ${AGENT} } }`, { id })).agent;
const setStatus = (agentId: string, status: string) =>
  server.data(`mutation { setAgentStatus(input: {agentId: "${agentId}", status: ${status}}) { status } }`);

/** As it is answered. */
const draftOf = (definition: string, revision = 1) => ({ definition, revision });

describe("a draft", () => {
  test("makes an agent that is shown by it, is listed, cannot be run, and is published", async () => {
    const name = newName();
    const text = textOf(name, "0.1.0", 1, "Order intake");
    const agent = await saved(text);
    expect(agent).toEqual({
      id: expect.stringMatching(/^agent_/),
      name: "Order intake",
      description: "About Order intake",
      handle: name,
      status: "draft",
      version: "0.1.0",
      definition: null,
      draft: draftOf(text),
      versions: { nodes: [] },
    });
    const { agents } = await server.data("{ agents { id name status version draft { definition revision } } }");
    expect(agents).toContainEqual({
      id: agent.id,
      name: "Order intake",
      status: "draft",
      version: "0.1.0",
      draft: draftOf(text),
    });
    const { errors } = await server.graphql(`mutation { runAgent(input: {agentId: "${agent.id}"}) { id } }`);
    expect(errors![0]!.extensions.code).toBe("CONFLICT");
    const next = await saved(textOf(name, "0.2.0", 2), { agentId: agent.id });
    expect(next).toMatchObject({ id: agent.id, name, version: "0.2.0", draft: draftOf(textOf(name, "0.2.0", 2), 2) });
    const { data } = await publishAgentDraft(agent.id);
    expect(data.publishAgentDraft).toEqual({
      ...next,
      status: "active",
      definition: next.draft.definition,
      draft: null,
      versions: { nodes: [{ version: "0.2.0", definition: next.draft.definition }] },
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
    expect(await saved(text)).toEqual({ ...first, draft: draftOf(text) });
    expect(await read(first.id)).toEqual({ ...first, draft: draftOf(text) });
    const { data } = await publishAgentDraft(first.id);
    expect(data.publishAgentDraft).toMatchObject({ name: "After", version: "2.0.0", draft: null, status: "active" });
    expect(data.publishAgentDraft.versions.nodes.map(({ version }: Data) => version)).toEqual(["2.0.0", "1.0.0"]);
    expect((await publishAgentDraft(first.id)).errors![0]!.extensions.code).toBe("CONFLICT");
  });

  test("is removed when its text is published, and kept when another text is", async () => {
    const name = newName();
    const { id } = await publish(textOf(name, "1.0.0"));
    const draft = textOf(name, "2.0.0", 2);
    await saved(draft);
    await publish(textOf(name, "1.1.0", 3));
    expect((await read(id)).draft).toEqual(draftOf(draft));
    await publish(draft);
    expect(await read(id)).toMatchObject({ version: "2.0.0", draft: null });
    // A published text is no draft.
    await saved(textOf(name, "3.0.0"));
    expect((await saved(draft)).draft).toBeNull();
  });

  test("may be broken, and its problems are told when it is published; the draft stays", async () => {
    const name = newName();
    const text = textOf(name, "one").replace("set:", "sett:");
    const agent = await saved(text);
    expect(agent).toMatchObject({ status: "draft", version: "", draft: draftOf(text) });
    const { errors } = await publishAgentDraft(agent.id);
    expect(errors![0]!.extensions).toMatchObject({
      code: "BAD_USER_INPUT",
      fields: expect.arrayContaining([
        expect.objectContaining({ path: "input.definition/document/version", code: "invalid" }),
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
    expect(errors![0]!.extensions).toMatchObject({
      code: "BAD_USER_INPUT",
      reason: "invalid_definition",
      fields: [{ path, code: "invalid", line: expect.any(Number), column: expect.any(Number) }],
    });
    expect((await server.data("{ agents { id } }")).agents).toHaveLength(before);
  });

  test("for an agent must have its name and its project", async () => {
    const { id } = await publish(textOf(newName(), "1.0.0"));
    const other = textOf(newName(), "1.0.0");
    expect((await save(other, { agentId: id })).errors![0]!.extensions).toMatchObject({
      code: "BAD_USER_INPUT",
      fields: [{ path: "input.definition/document/name", code: "invalid", line: 4, column: 9 }],
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

const MINE = "input.definition";
const DRAFT = "draft { definition revision savedAt savedBy { kind id name } inputFields { name type required } }";
const draft = async (id: string): Promise<Data> =>
  (await server.data(`query($id: ID!) { agent(id: $id) { ${DRAFT} } }`, { id })).agent.draft;

describe("who saved, and how often", () => {
  test("revisions go on after the draft was published or removed, and the time and the actor are told", async () => {
    const name = newName();
    const before = Date.now();
    const { id } = await saved(textOf(name, "1.0.0"));
    const { me } = await server.data("{ me { id name } }");
    const first = await draft(id);
    expect(first).toMatchObject({ revision: 1, savedBy: { kind: "key", id: expect.stringMatching(/^key_/) } });
    expect(first.savedBy.name).not.toBe("");
    expect(Date.parse(first.savedAt)).toBeGreaterThanOrEqual(before);
    await publishAgentDraft(id);
    expect(await draft(id)).toBeNull();
    const { login } = await server.data(
      "mutation($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }",
      { email: server.world.email, password: server.world.password },
      null,
    );
    await server.data(
      "mutation($input: SaveAgentDraftInput!) { saveAgentDraft(input: $input) { id } }",
      { input: { definition: textOf(name, "2.0.0", 2), agentId: id } },
      login.accessToken,
    );
    expect(await draft(id)).toMatchObject({ revision: 2, savedBy: { kind: "user", id: me.id, name: me.name } });
    // The published text removes the draft, and is a save too.
    expect((await saved(textOf(name, "1.0.0"))).draft).toBeNull();
    expect((await saved(textOf(name, "3.0.0", 3))).draft.revision).toBe(4);
  });
});

describe("expectedRevision", () => {
  test("of ten who save at once, one does, and the others get what it saved", async () => {
    const name = newName();
    const { id } = await saved(textOf(name, "1.0.0"));
    for (let expectedRevision = 1; expectedRevision < 4; expectedRevision++) {
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, value) =>
          save(textOf(name, "1.0.0", 100 * expectedRevision + value), { agentId: id, expectedRevision }),
        ),
      );
      const winners = answers.filter(({ errors }) => !errors);
      expect(winners).toHaveLength(1);
      const won = winners[0]!.data.saveAgentDraft.draft;
      expect(won.revision).toBe(expectedRevision + 1);
      for (const { errors } of answers.filter((answer) => answer.errors)) {
        expect(errors).toHaveLength(1);
        expect(errors![0]!.extensions).toMatchObject({ code: "CONFLICT", reason: "draft_changed", draft: won });
      }
      expect(await draft(id)).toMatchObject(won);
    }
  });

  test("0 is for no draft yet: of ten new agents of one name, one is made", async () => {
    const name = newName();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, value) => save(textOf(name, "1.0.0", value), { expectedRevision: 0 })),
    );
    expect(answers.filter(({ errors }) => !errors)).toHaveLength(1);
    const { saveAgentDraft } = answers.find(({ errors }) => !errors)!.data;
    expect(saveAgentDraft.draft.revision).toBe(1);
  });

  test("when the draft was published meanwhile, the conflict says that there is none", async () => {
    const name = newName();
    const { id, draft: first } = await saved(textOf(name, "1.0.0"));
    await publishAgentDraft(id);
    const mine = textOf(name, "1.1.0", 2);
    const { errors } = await save(mine, { agentId: id, expectedRevision: first.revision });
    expect(errors![0]!.extensions).toMatchObject({ code: "CONFLICT", draft: null });
    expect(await draft(id)).toBeNull();
    expect((await saved(mine, { agentId: id, expectedRevision: 0 })).draft).toEqual(draftOf(mine, 2));
  });

  test("the same save again by the same caller is answered alike, as its answer may have been lost", async () => {
    const [name, query] = [
      newName(),
      "mutation($input: SaveAgentDraftInput!) { saveAgentDraft(input: $input) { id } }",
    ];
    const text = textOf(name, "1.0.0");
    const first = await saved(text, { expectedRevision: 0 });
    expect(await saved(text, { expectedRevision: 0 })).toEqual(first);
    const mine = textOf(name, "1.0.0", 2);
    const second = await saved(mine, { agentId: first.id, expectedRevision: 1 });
    expect(second.draft).toEqual(draftOf(mine, 2));
    expect(await saved(mine, { agentId: first.id, expectedRevision: 1 })).toEqual(second);
    const refused = [
      await save(text, { agentId: first.id, expectedRevision: 1 }),
      await server.graphql(
        query,
        { input: { agentId: first.id, definition: mine, expectedRevision: 1 } },
        await server.key(["agents:read", "agents:write"]),
      ),
    ];
    for (const { errors } of refused) expect(errors![0]!.extensions).toMatchObject({ draft: draftOf(mine, 2) });
    // The published text removes the draft.
    await publish(text);
    const without = await saved(text, { agentId: first.id, expectedRevision: 2 });
    expect(without.draft).toBeNull();
    expect(await saved(text, { agentId: first.id, expectedRevision: 2 })).toEqual(without);
  });

  test("of an agent that is not there leaves nothing", async () => {
    const name = newName();
    const { errors } = await save(textOf(name, "1.0.0"), { expectedRevision: 3 });
    expect(errors![0]!.extensions).toMatchObject({ code: "CONFLICT", draft: null });
    const { agents } = await server.data("{ agents { handle } }");
    expect(agents).not.toContainEqual({ handle: name });
  });

  test("below 0 is refused", async () => {
    const { errors } = await save(textOf(newName(), "1.0.0"), { expectedRevision: -1 });
    expect(errors![0]!.extensions).toMatchObject({
      code: "BAD_USER_INPUT",
      fields: [{ path: "input.expectedRevision", code: "out_of_range" }],
    });
  });

  test("only a caller who may read the present text gets it", async () => {
    const name = newName();
    const { id } = await saved(textOf(name, "1.0.0"));
    const query = "mutation($input: SaveAgentDraftInput!) { saveAgentDraft(input: $input) { id } }";
    const input = { agentId: id, definition: textOf(name, "1.0.0", 2), expectedRevision: 7 };
    const { errors } = await server.graphql(query, { input }, await server.key(["agents:write"]));
    expect(errors![0]!.extensions.code).toBe("CONFLICT");
    expect(errors![0]!.extensions).not.toHaveProperty("draft");
    expect(JSON.stringify(errors)).not.toContain("dsl");
  });
});

describe("a text that does not parse", () => {
  test.each([
    ["what is no YAML", "document: {name: a\n]"],
    ["nothing", ""],
    ["half a line", "docum"],
    ["no name", "document: {namespace: test}"],
  ])("is saved with its agent's id: %s", async (_, text) => {
    const name = newName();
    const published = await publish(textOf(name, "1.0.0", 1, "Kept"));
    expect(await saved(text, { agentId: published.id, projectId: undefined })).toEqual({
      ...published,
      draft: draftOf(text),
    });
    expect(await draft(published.id)).toMatchObject({ definition: text, inputFields: [] });
    const { errors } = await publishAgentDraft(published.id);
    expect(errors![0]!.extensions.code).toBe("BAD_USER_INPUT");
  });

  test("of an agent that was never published leaves its name", async () => {
    const { id } = await saved(textOf(newName(), "1.0.0", 1, "Order intake"));
    expect(await saved("docum", { agentId: id })).toMatchObject({ name: "Order intake", version: "", status: "draft" });
  });

  test.each([
    ["a NUL", "a: \u0000"],
    ["half of a surrogate pair", "a: \ud800"],
    ["half a megabyte", "x".repeat(500_000)],
  ])("is refused when it is no text: %s", async (_, text) => {
    const { id } = await publish(textOf(newName(), "1.0.0"));
    const { errors } = await save(text, { agentId: id });
    expect(errors![0]!.extensions).toMatchObject({ code: "BAD_USER_INPUT", fields: [{ path: MINE }] });
  });
});

describe("without projectId", () => {
  test("the agent or the namespace names the project", async () => {
    const name = newName();
    const { id } = await saved(textOf(name, "1.0.0"), { projectId: undefined });
    expect(await saved(textOf(name, "1.1.0"), { projectId: undefined, agentId: id })).toMatchObject({ id });
  });

  test("a namespace that no project has is refused, and so is another than the agent's", async () => {
    const name = newName();
    const { id } = await saved(textOf(name, "1.0.0"));
    const text = textOf(name, "1.0.0").replace("namespace: test", "namespace: nowhere");
    for (const more of [{}, { agentId: id }]) {
      const { errors } = await save(text, { projectId: undefined, ...more });
      expect(errors![0]!.message).toContain("`{ projects { nodes { id handle } } }`");
      expect(errors![0]!.extensions).toMatchObject({
        code: "BAD_USER_INPUT",
        fields: [{ path: "input.definition/document/namespace" }],
      });
    }
  });
});

describe("the form of a draft", () => {
  const withForm = (name: string, form: string, tail = ""): string =>
    `${textOf(name, "1.0.0")}${tail}input: {schema: {document: ${form}}}\n`;
  const FORM = "{type: object, properties: {order: {type: string}, n: {type: integer}}, required: [order]}";

  test("is returned while other parts of the text have mistakes, and empty while it has some itself", async () => {
    const name = newName();
    const { id } = await saved(withForm(name, FORM, "  - second: {sett: {a: 1}}\n"));
    expect((await draft(id)).inputFields).toEqual([
      { name: "order", type: "text", required: true },
      { name: "n", type: "integer", required: false },
    ]);
    for (const form of ["{type: object, properties: {n: {type: what}}}", "[]", "{type: object, required: [a]}"]) {
      await saved(withForm(name, form));
      expect((await draft(id)).inputFields).toEqual([]);
    }
  });
});

test("drafts that together are larger than an answer are refused as a whole, and are read one by one", async () => {
  const filler = "# ".padEnd(255_000, "x");
  const ids: string[] = [];
  for (let count = 0; count < 36; count++)
    ids.push((await saved(`${textOf(newName(), "1.0.0")}${filler}`.slice(0, 255_000))).id);
  const many = (field: string) => server.graphql(`{ agentsConnection(first: 40) { nodes { draft { ${field} } } } }`);
  for (const field of ["definition", "inputFields { name }"])
    expect((await many(field)).errors![0]!.extensions.code).toBe("QUERY_TOO_COMPLEX");
  expect((await many("revision")).errors).toBeUndefined();
  expect((await draft(ids[0]!)).definition).toHaveLength(255_000);
});
