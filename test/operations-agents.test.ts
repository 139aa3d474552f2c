/** Publishing, versions, going back to an old one, and what differs between them, over the wire. */
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
${title && `  title: ${title}\n`}do:
  - first:
      set:
        n: ${value}
`;

const AGENT = "id name handle status version definition draft { definition } versions { nodes { version definition } }";
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
const publishAgentVersion = (agentId: string, version: string) =>
  server.graphql(`mutation($input: PublishAgentVersionInput!) { publishAgentVersion(input: $input) { ${AGENT} } }`, {
    input: { agentId, version },
  });
const setStatus = (agentId: string, status: string) =>
  server.data(`mutation { setAgentStatus(input: {agentId: "${agentId}", status: ${status}}) { status } }`);

describe("publishAgentVersion", () => {
  test("goes back to an old version, with its name, and keeps status, draft and versions", async () => {
    const name = newName();
    const { id } = await publish(textOf(name, "1.0.0", 1, "Old"));
    const second = await publish(textOf(name, "2.0.0", 2, "New"));
    const draft = textOf(name, "3.0.0", 3);
    await saved(draft);
    await setStatus(id, "paused");
    const { data } = await publishAgentVersion(id, "1.0.0");
    expect(data.publishAgentVersion).toEqual({
      ...second,
      name: "Old",
      status: "paused",
      version: "1.0.0",
      definition: textOf(name, "1.0.0", 1, "Old"),
      draft: { definition: draft },
    });
    await setStatus(id, "active");
    const { runAgent } = await server.data(`mutation { runAgent(input: {agentId: "${id}", wait: 10}) { output } }`);
    expect(runAgent.output).toEqual({ n: 1 });
  });

  test("refuses what is no version, and an archived agent", async () => {
    const { id } = await publish(textOf(newName(), "1.0.0"));
    for (const version of ["9.9.9", "", "\u0000", "1.0.0 ", "x".repeat(10_000)]) {
      expect((await publishAgentVersion(id, version)).errors).toEqual([
        expect.objectContaining({
          message: "Version not found: the newest are 1.0.0",
          extensions: { code: "NOT_FOUND" },
        }),
      ]);
    }
    await setStatus(id, "archived");
    expect((await publishAgentVersion(id, "1.0.0")).errors![0]!.extensions.code).toBe("CONFLICT");
  });
});

describe("a version", () => {
  const VERSION = "id version definition inputFields { name } createdAt createdBy { kind } agent { id handle }";
  const form = "input: {schema: {document: {type: object, properties: {order: {type: string}}}}}\n";

  test("is found by its id, its agent, its text and its runs, as the same object", async () => {
    const name = newName();
    const { id } = await publish(textOf(name, "1.0.0") + form);
    await publish(textOf(name, "2.0.0"));
    const { agent } = await server.data(
      `query($id: ID!) { agent(id: $id) { versions { nodes { ${VERSION} } } published: agentVersion { ${VERSION} }
        first: agentVersion(version: "1.0.0") { ${VERSION} } none: agentVersion(version: "9.9.9") { id } bad: agentVersion(version: "\\u0000") { id } } }`,
      { id },
    );
    expect(agent.versions.nodes).toEqual([agent.published, agent.first]);
    expect(agent).toMatchObject({ none: null, bad: null });
    expect(agent.first).toEqual({
      id: expect.stringMatching(/^version_[0-7][0-9a-z]{25}$/),
      version: "1.0.0",
      definition: textOf(name, "1.0.0") + form,
      inputFields: [{ name: "order" }],
      createdAt: expect.any(String),
      createdBy: { kind: "key" },
      agent: { id, handle: name },
    });
    const { node } = await server.data(
      `query($id: ID!) { node(id: $id) { __typename ... on AgentVersion { ${VERSION} } } }`,
      {
        id: agent.first.id,
      },
    );
    expect(node).toEqual({ __typename: "AgentVersion", ...agent.first });
    const { runAgent } = await server.data(
      `mutation { runAgent(input: {agentId: "${id}", version: "1.0.0", input: {order: "a"}}) { id } }`,
    );
    const { run } = await server.data(`query($id: ID!) { run(id: $id) { agentVersion { ${VERSION} } } }`, {
      id: runAgent.id,
    });
    expect(run.agentVersion).toEqual(agent.first);
  });

  test("of an agent that was never published there is none", async () => {
    const definition = textOf(newName(), "1.0.0");
    const { saveAgentDraft } = await server.data(
      "mutation($input: SaveAgentDraftInput!) { saveAgentDraft(input: $input) { agentVersion { id } } }",
      { input: { definition } },
    );
    expect(saveAgentDraft).toEqual({ agentVersion: null });
  });

  test("that is not found is answered with the newest three", async () => {
    const name = newName();
    const { id } = await publish(textOf(name, "0.1.0"));
    for (const version of ["1.0.0", "2.0.0", "1.5.0"]) await publish(textOf(name, version));
    const message = "Version not found: the newest are 1.5.0, 2.0.0, 1.0.0";
    const answers = [
      await server.graphql(`mutation { runAgent(input: {agentId: "${id}", version: "3.0.0"}) { id } }`),
      await publishAgentVersion(id, "3.0.0"),
      await server.graphql(`{ agentDiff(agentId: "${id}", from: "3.0.0") }`),
      await server.graphql(`{ agentDiff(agentId: "${id}", to: "3.0.0") }`),
    ];
    const { runAgent } = await server.data(`mutation { runAgent(input: {agentId: "${id}", wait: 10}) { id } }`);
    answers.push(
      await server.graphql(
        `mutation { retryRun(input: {runId: "${runAgent.id}", fromStep: 1, version: "3.0.0"}) { id } }`,
      ),
    );
    for (const { errors } of answers) expect(errors).toMatchObject([{ message, extensions: { code: "NOT_FOUND" } }]);
  });
});

describe("publishAgent", () => {
  const publishAgent = (definition: string, projectId?: string) =>
    server.graphql(
      "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id version project { id handle } } }",
      { input: { definition, ...(projectId && { projectId }) } },
    );
  const NAMESPACE = "input.definition/document/namespace";

  test("goes without a project into the one that the namespace names, and again with it", async () => {
    const text = textOf(newName(), "1.0.0");
    const { data, errors } = await publishAgent(text);
    expect(errors).toBeUndefined();
    expect(data.publishAgent).toMatchObject({ version: "1.0.0", project: { id: server.world.projectId } });
    expect((await publishAgent(text, server.world.projectId)).data).toEqual(data);
  });

  test("into another project than the namespace's is refused, with how to see the projects", async () => {
    const text = textOf(newName(), "1.0.0").replace("namespace: test", "namespace: other-one");
    for (const projectId of [server.world.projectId, undefined]) {
      const { errors } = await publishAgent(text, projectId);
      expect(errors).toHaveLength(1);
      expect(errors![0]!.message).toContain("`{ projects { nodes { id handle } } }`");
      expect(errors![0]!.message).toContain("other-one");
      expect(errors![0]!.extensions).toMatchObject({
        code: "BAD_USER_INPUT",
        reason: "invalid_definition",
        fields: [{ path: NAMESPACE, code: "invalid", line: 3, column: 14 }],
      });
    }
  });

  test("does not find another organization's project by its namespace", async () => {
    const other = await server.organization("elsewhere");
    const made = await server.data(
      'mutation { createProject(input: {handle: "theirs", name: "Theirs"}) { id } }',
      {},
      other.apiKey,
    );
    const text = textOf(newName(), "1.0.0").replace("namespace: test", "namespace: theirs");
    const { errors } = await publishAgent(text);
    expect(errors![0]!.message).toContain("there is no project with the handle theirs");
    expect(JSON.stringify(errors)).not.toContain(made.createProject.id);
  });
});

describe("validateDefinition", () => {
  const check = async (definition: string, projectId?: string, token?: string): Promise<Data> =>
    (
      await server.data(
        "query($definition: String!, $projectId: ID) { validateDefinition(definition: $definition, projectId: $projectId) { valid problems { severity path line column message } } }",
        { definition, projectId },
        token,
      )
    ).validateDefinition;

  test("is a query that agents:read is enough for", async () => {
    const token = await server.key(["agents:read"]);
    expect(await check(textOf("any", "1.0.0"), undefined, token)).toEqual({ valid: true, problems: [] });
  });

  test("holds the namespace to the project only when one is given, and warns if there is no such project yet", async () => {
    const text = textOf("any", "1.0.0").replace("namespace: test", "namespace: other-one");
    const message = expect.stringMatching(/^there is no project with the handle other-one.+`createProject`/);
    const warning = { severity: "warning", path: "/document/namespace", line: 3, column: 14, message };
    expect(await check(text)).toEqual({ valid: true, problems: [warning] });
    expect(await check(textOf("any", "1.0.0"), server.world.projectId)).toEqual({ valid: true, problems: [] });
    const { valid, problems } = await check(text, server.world.projectId);
    expect(valid).toBe(false);
    expect(problems).toEqual([
      {
        severity: "error",
        path: "/document/namespace",
        line: 3,
        column: 14,
        message: expect.stringContaining("other-one"),
      },
    ]);
  });

  test("a name that the form does not have is an error, and an assignment as a condition a warning", async () => {
    const name = newName();
    const text = (task: string): string =>
      `document: {dsl: 1.0.3, namespace: test, name: ${name}, version: 1.0.0}\ninput: {schema: {document: {type: object, properties: {orderId: {type: string}}}}}\ndo:\n  - send: ${task}\n`;
    const call = "{call: http, with: {method: delete, endpoint: 'https://example.com/orders/{orderID}'}}";
    const message = '{orderID} is not known here; did you mean "orderId"?';
    const problem = { severity: "error", path: "/do/0/send/with/endpoint", line: 4, column: 57, message };
    expect(await check(text(call))).toEqual({ valid: false, problems: [problem] });
    await expect(publish(text(call))).rejects.toThrow("{orderID} is not known here");
    const assigns = "{if: .orderId = 1, wait: PT1S}";
    expect(await check(text(assigns))).toMatchObject({
      valid: true,
      problems: [{ severity: "warning", path: "/do/0/send/if", line: 4 }],
    });
    expect(await publish(text(assigns))).toMatchObject({ id: expect.stringMatching(/^agent_/) });
    const both = await check(text(`{if: .orderId = 1, ${call.slice(1)}`));
    expect(both.valid).toBe(false);
    expect(both.problems.map(({ severity }: Data) => severity)).toEqual(["error", "warning"]);
  });

  describe("an agent that the definition starts", () => {
    const text = (name: string, task: string): string =>
      `document: {dsl: 1.0.3, namespace: test, name: ${name}, version: 1.0.0}\ndo:\n  - outer: {do: [{start: ${task}}]}\n`;
    const runs = (name: string, version = "latest", namespace = "test"): string =>
      `{run: {workflow: {namespace: ${namespace}, name: ${name}, version: ${version}}}}`;
    const offers = (...handles: string[]): string =>
      `{call: 'assistant:1.0.0@default', with: {prompt: Go, tools: [${handles.map((handle) => `{agent: {handle: ${handle}}}`).join()}]}}`;
    const at = async (definition: string, token?: string): Promise<string[]> =>
      (await check(definition, undefined, token)).problems.map(
        ({ severity, path, message }: Data) => `${severity} ${path}: ${message}`,
      );
    const inStart = "/do/0/outer/do/0/start";
    const missing = (name: string): string =>
      `there is no published agent test/${name} that you can see; without one this fails`;

    test("and that is not published is a warning where its name stands, also in a tool", async () => {
      const [name, known] = [newName(), newName()];
      expect(await at(text(name, runs(known)))).toEqual([`warning ${inStart}/run/workflow/name: ${missing(known)}`]);
      expect(await at(text(name, offers(name, known)))).toEqual([
        `warning ${inStart}/with/tools/1/agent/handle: ${missing(known)}`,
      ]);
      await saved(textOf(known, "1.0.0"));
      expect(await at(text(name, runs(known)))).toHaveLength(1);
      const { id } = await publish(textOf(known, "1.0.0"));
      for (const task of [runs(known), runs(known, "1.0.0"), offers(known), runs(name)])
        expect(await at(text(name, task)), task).toEqual([]);
      expect(await at(text(name, runs(known, "1.0.1")))).toEqual([
        `warning ${inStart}/run/workflow/version: the agent test/${known} has no version 1.0.1; without it this fails`,
      ]);
      expect(await at(text(name, runs(known, "latest", "elsewhere")))).toHaveLength(1);
      // Two that start each other can be published, one after the other.
      expect(await publish(text(name, runs("comes-later")))).toMatchObject({ status: "active" });
      await setStatus(id, "archived");
      expect(await at(text(name, runs(known)))).toHaveLength(1);
    });

    test("and that belongs to another organization, or is out of a key's reach, is missing as one that there is not", async () => {
      const [name, known] = [newName(), newName()];
      const { id } = await publish(textOf(known, "1.0.0"));
      const other = await server.organization("beside");
      expect(await at(text(name, runs(known)), other.apiKey)).toEqual([
        `warning ${inStart}/run/workflow/name: ${missing(known)}`,
      ]);
      const make = "mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { secret } }";
      const keyFor = async (agentId: string): Promise<string> =>
        (await server.data(make, { input: { name: "one", scopes: ["agents:read"], agentIds: [agentId] } })).createApiKey
          .secret;
      const { id: another } = await publish(textOf(name, "1.0.0"));
      expect(await at(text(name, runs(known)), await keyFor(another))).toHaveLength(1);
      expect(await at(text(name, runs(known)), await keyFor(id))).toEqual([]);
    });
  });

  test.each(["", "1", "[]", "document:", "document: {namespace: 1}", "document: {namespace: [test]}"])(
    "of %j with a project tells what is wrong with the text",
    async (text) => {
      const { valid, problems } = await check(text, server.world.projectId);
      expect(valid).toBe(false);
      expect(problems.length).toBeGreaterThan(0);
      expect(JSON.stringify(problems)).not.toContain("the project's handle");
    },
  );
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
