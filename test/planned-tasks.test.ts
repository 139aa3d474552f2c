/** The tasks of a version, and the task of each step, over the wire: every kind, in every way in which one encloses others. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { KINDS } from "../server/src/definition/tasks/kinds.ts";
import { LIMITS } from "../server/src/lib/limits.ts";
import { start } from "./agents.ts";
import { type Data } from "./client.ts";
import { agentOf, decide, ENDED, ran, until } from "./runs.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";
import { startSink, type Sink } from "./sink.ts";

let server: SharedServer;
let sink: Sink;
let agentId: string;
let definition: Data;
/** A run of all that ended well. */
let id: string;

const set = (name: string): object => ({ [name]: { set: { n: 1 } } });
const fetchOne = (path: string, step: string): object => ({
  call: "http",
  with: { method: "post", endpoint: `${sink.url}${path}`, query: { run: "${ $workflow.id }", step } },
});
const raise = { raise: { error: { type: "https://example.org/broken", status: 418 } } };

/** Each kind by itself, and each that has lists of tasks around each other. */
const everything = (): object[] => [
  set("a b"),
  { "ü.1": { do: [set("a b"), { deeper: { do: [set("deepest")] } }] } },
  { choose: { switch: [{ never: { when: "${ false }", then: "end" } }, { always: { then: "loop" } }] } },
  set("passed by"),
  {
    loop: {
      for: { in: "${ [1, 2] }" },
      do: [
        { both: { fork: { branches: [set("left"), { right: { do: [set("0")] } }] } } },
        { nap: { wait: { milliseconds: 1 } } },
      ],
    },
  },
  {
    each: {
      call: "each:1.0.0@default",
      with: { in: "${ [1, 2] }", do: [{ inner: { for: { in: "${ [1] }" }, do: [set("each")] } }] },
    },
  },
  { call: fetchOne("/", "call") },
  {
    safe: {
      try: [set("before"), { broken: raise }, set("never")],
      catch: { do: [{ mend: { try: [{ again: raise }], catch: { do: [set("mend")] } } }] },
    },
  },
  { once: { try: [{ lone: fetchOne("/refuse/1", "lone") }], catch: { retry: { delay: { milliseconds: 1 } } } } },
  { dropped: { try: [{ lone: fetchOne("/refuse", "dropped") }], catch: { do: [set("lone")] } } },
  {
    unasked: {
      try: [{ lone: { call: "llm:1.0.0@default", with: { prompt: "Hello" } } }],
      catch: { do: [set("no model")] },
    },
  },
  {
    unsent: {
      try: [
        {
          lone: { call: "email:1.0.0@default", with: { to: "ada@example.com", subject: "Hello", text: "Hello" } },
        },
      ],
      catch: { do: [set("no mail")] },
    },
  },
  {
    idle: {
      try: [{ lone: { call: "assistant:1.0.0@default", with: { prompt: "Hello" } } }],
      catch: { do: [set("no model")] },
    },
  },
  {
    unheard: {
      try: [
        {
          lone: {
            call: "mcp",
            with: { method: "tools/list", transport: { http: { endpoint: `${sink.url}/?run=none&step=mcp` } } },
          },
        },
      ],
      catch: { do: [set("no server")] },
    },
  },
  {
    undescribed: {
      try: [
        {
          lone: {
            call: "openapi",
            with: { document: { endpoint: `${sink.url}/?run=none&step=openapi` }, operationId: "getPet" },
          },
        },
      ],
      catch: { do: [set("no document")] },
    },
  },
  { race: { fork: { compete: true, branches: [{ slow: { wait: { hours: 1 } } }, set("fast")] } } },
  { child: { run: { workflow: { namespace: "test", name: "child", version: "1.0.0" } } } },
  { reckon: { run: { script: { language: "js", code: "return 1" } } } },
  { say: { emit: { event: { with: { type: "planned.one" } } } } },
  {
    hear: {
      listen: { to: { one: { with: { type: "planned.one" } } } },
      foreach: { do: [set("heard")] },
    },
  },
  { ask: { call: "approval:1.0.0@default", with: { question: "Sure?" } } },
  { called: { call: "twice", with: { list: [1, 2] } } },
  { calledAgain: { call: "once", with: {} } },
  { skipped: { if: "${ false }", do: [set("nothing")] } },
];

const FUNCTIONS = {
  once: { set: { n: 1 } },
  twice: { for: { in: "${ .list }" }, do: [{ "one of them": { call: "once" } }] },
};

const TASKS = "tasks { path parentPath name kind }";
const STEPS = "number parentNumber name kind taskPath callPath error { instance stepNumber }";

beforeAll(async () => {
  [server, sink] = await Promise.all([sharedServer(), startSink()]);
  await agentOf(server, "do: [{one: {set: {n: 1}}}]", "child");
  definition = {
    document: { dsl: "1.0.3", namespace: "test", name: "everything", version: "1.0.0" },
    use: { functions: FUNCTIONS },
    do: everything(),
  };
  agentId = await publishText(JSON.stringify(definition));
  id = await start(server, agentId);
  await decide(server, id, "approve");
  await until(server, id, ...ENDED);
});
afterAll(async () => {
  await Promise.all([server[Symbol.asyncDispose](), sink[Symbol.asyncDispose]()]);
});

async function publishText(text: string): Promise<string> {
  const { publishAgent } = await server.data(
    "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }",
    { input: { projectId: server.world.projectId, definition: text } },
  );
  return publishAgent.id;
}

const tasksOf = async (agent: string, version?: string): Promise<Data[]> =>
  (
    await server.data(
      `query($id: ID!, $version: String) { agent(id: $id) { agentVersion(version: $version) { ${TASKS} } } }`,
      { id: agent, version },
    )
  ).agent.agentVersion.tasks;

const stepsOf = async (run: string): Promise<Data[]> =>
  (await server.data(`{ run(id: "${run}") { steps { ${STEPS} } } }`)).run.steps;

/** The value that a JSON pointer points to in the definition. */
const at = (path: string): Data =>
  path
    .split("/")
    .slice(1)
    .reduce((value, part) => value?.[part], definition);

/** Pointers to all that stands under its name in a list under `do`, `branches` or `try`. */
const written = (value: Data, path: string): string[] =>
  Object.entries(value ?? {}).flatMap(([key, inner]: [string, Data]) => {
    if (typeof inner !== "object" || inner === null) return [];
    const inside = `${path}/${key}`;
    if (!Array.isArray(inner) || !["do", "branches", "try"].includes(key)) return written(inner, inside);
    return inner.flatMap((item, index) => {
      const [name] = Object.keys(item) as [string];
      return [`${inside}/${index}/${name}`, ...written(item[name], `${inside}/${index}/${name}`)];
    });
  });

/** Each step is of a task of the list, and inside a step of the task that encloses its own. */
function expectPlanned(steps: Data[], tasks: Data[]): void {
  const planned = new Map(tasks.map((task) => [task.path, task]));
  const numbered = new Map(steps.map((step) => [step.number, step]));
  for (const step of steps) {
    const task = planned.get(step.taskPath);
    expect(task, `${step.number} ${step.name} ${step.taskPath}`).toBeDefined();
    expect(step.name).toBe(task.name);
    const around = numbered.get(step.parentNumber);
    expect(task.parentPath).toBe(around?.kind === "function" ? "/use/functions" : (around?.taskPath ?? null));
    // The step of a `try` around one call alone has the call's kind.
    expect(step.kind).toBe(planned.get(step.callPath ?? step.taskPath).kind);
    if (step.callPath) expect(planned.get(step.callPath).parentPath).toBe(step.taskPath);
  }
}

describe("a definition of every kind of task", () => {
  test("its version lists all tasks, as pointers into the text, each after the one that encloses it", async () => {
    const tasks = await tasksOf(agentId);
    expect(new Set(tasks.map(({ kind }) => kind))).toEqual(new Set(Object.keys(KINDS)));
    const listed = new Set<string | null>([null, "/use/functions"]);
    for (const { path, parentPath, name } of tasks) {
      expect(path.endsWith(`/${name}`)).toBe(true);
      expect(at(path), path).toEqual(expect.any(Object));
      expect(listed.has(parentPath)).toBe(true);
      if (parentPath !== null) expect(path.startsWith(`${parentPath}/`)).toBe(true);
      listed.add(path);
    }
    expect(listed.size - 2).toBe(tasks.length);
    const paths = tasks.map(({ path }) => path);
    const functions = Object.entries(FUNCTIONS).flatMap(([name, task]) => {
      const path = `/use/functions/${name}`;
      return [path, ...written(task, path)];
    });
    expect(paths).toEqual([...written(definition["do"] && { do: definition["do"] }, ""), ...functions]);
    for (const path of [
      "/do/1/ü.1/do/1/deeper/do/0/deepest",
      "/do/8/once/try/0/lone",
      "/do/9/dropped/catch/do/0/lone",
    ]) {
      expect(paths).toContain(path);
    }
  });

  test("each step's taskPath is the path of its task, in the run, in the answer of a start, and in events", async () => {
    const tasks = await tasksOf(agentId);
    const steps = await stepsOf(id);
    expectPlanned(steps, tasks);
    const kinds = new Set(steps.map(({ kind }) => kind));
    expect(kinds).toEqual(new Set(Object.keys(KINDS)));
    const reached = new Set(steps.flatMap(({ taskPath, callPath }) => [taskPath, callPath]));
    const left = tasks.filter(({ path }) => !reached.has(path)).map(({ name }) => name);
    expect(left).toEqual(["passed by", "never", "nothing"]);
    const { runAgent } = await server.data(
      `mutation($input: RunAgentInput!) { runAgent(input: $input) { id steps { ${STEPS} } } }`,
      { input: { agentId, wait: 30 } },
    );
    expectPlanned(runAgent.steps, tasks);
    const events = server.watch(`subscription { runEvents(runId: "${id}") { run { status } step { ${STEPS} } } }`);
    const seen = new Map<number, Data>();
    for await (const { data } of events) {
      const { run, step } = data.runEvents;
      if (step) seen.set(step.number, step);
      if (run && ENDED.includes(run.status) && seen.size === steps.length) break;
    }
    expect([...seen.values()].toSorted((a, b) => a.number - b.number)).toEqual(steps);
    const ids = (await server.data(`{ run(id: "${id}") { steps { id } } }`)).run.steps;
    const { node } = await server.data(`{ node(id: "${ids.at(-1).id}") { ... on Step { taskPath } } }`);
    expect(node.taskPath).toBe(steps.at(-1)!.taskPath);
    await server.data(`mutation { cancelRun(runId: "${runAgent.id}") { id } }`);
    expectPlanned(await stepsOf(runAgent.id), tasks);
  });

  test("a run that retries another, on another version, has the paths of its own version", async () => {
    const failing = (version: string, more: object[]): string =>
      JSON.stringify({
        document: { dsl: "1.0.3", namespace: "test", name: "twice", version },
        do: [...more, { loop: { for: { in: "${ [1, 2] }" }, do: [set("fine")] } }, { broken: raise }],
      });
    const twice = await publishText(failing("1.0.0", []));
    const run = await ran(server, twice);
    const [step] = (await stepsOf(run.id)).slice(-1);
    expect(step).toMatchObject({
      taskPath: "/do/1/broken",
      error: { instance: "/do/1/broken", stepNumber: step.number },
    });
    await publishText(failing("2.0.0", [{ early: { do: [set("bird")] } }]));
    const { retryRun } = await server.data(`mutation { retryRun(input: {runId: "${run.id}"}) { id } }`);
    const retried = await until(server, retryRun.id, ...ENDED);
    expectPlanned(await stepsOf(retried.id), await tasksOf(twice, "1.0.0"));
    const second = await ran(server, twice);
    expect((await stepsOf(second.id)).at(-1)!.taskPath).toBe("/do/2/broken");
    expectPlanned(await stepsOf(second.id), await tasksOf(twice));
  });
});

test("an organization's versions and their tasks need agents:read; the path comes with the step", async () => {
  const token = await server.key(["runs:start"]);
  const child = (await server.data("{ agents { id handle } }")).agents.find(
    ({ handle }: Data) => handle === "child",
  ).id;
  const input = { agentId: child, wait: 10 };
  const asked = (fields: string) =>
    server.graphql(`mutation($input: RunAgentInput!) { runAgent(input: $input) { ${fields} } }`, { input }, token);
  expect((await asked("steps { taskPath }")).data.runAgent.steps).toEqual([{ taskPath: "/do/0/one" }]);
  const { errors } = await asked(`agentVersion { ${TASKS} }`);
  expect(errors![0]!.extensions).toMatchObject({ code: "FORBIDDEN", scope: "agents:read" });
});

test("definitions that a query makes ready count with their length, for tasks, fields and paths", async () => {
  const large = "x".repeat(LIMITS.definitionBytes - 1_000);
  // With their texts they count twice.
  const count = Math.ceil(LIMITS.answerBytes / large.length / 2);
  let many = "";
  for (let patch = 0; patch < count; patch++) {
    const document = { dsl: "1.0.3", namespace: "test", name: "many", version: `1.0.${patch}` };
    many = await publishText(JSON.stringify({ document, do: [set("one")], output: { as: { large } } }));
    await start(server, many);
  }
  const query = (fields: string) => server.graphql(`{ agent(id: "${many}") { ${fields} } }`);
  const lists = [
    (first: number, more = "") =>
      query(`versions(first: ${first}) { nodes { definition ${more && "tasks { path }"} } }`),
    (first: number, more = "") =>
      query(`versions(first: ${first}) { nodes { definition ${more && "inputFields { name }"} } }`),
    (first: number, more = "") =>
      query(`runs(first: ${first}) { nodes { agentVersion { definition } ${more && "steps { taskPath }"} } }`),
  ];
  for (const ask of lists) {
    expect((await ask(count)).errors).toBeUndefined();
    expect((await ask(5, "more")).errors).toBeUndefined();
    expect((await ask(count, "more")).errors?.[0]!.extensions.code).toBe("QUERY_TOO_COMPLEX");
  }
});

test("the tasks of a version count one by one", async () => {
  const document = { dsl: "1.0.3", namespace: "test", name: "wide", version: "1.0.0" };
  const tasks = Array.from({ length: 1_500 }, (_, index) => set(`t${index}`));
  const wide = await publishText(JSON.stringify({ document, do: tasks }));
  const ask = (times: number) => {
    const aliases = Array.from({ length: times }, (_, index) => `a${index}: ${TASKS}`);
    return server.graphql(`{ agent(id: "${wide}") { agentVersion { ${aliases.join(" ")} } } }`);
  };
  expect((await ask(6)).data.agent.agentVersion.a5.length).toBe(1_500);
  expect((await ask(7)).errors![0]!.extensions.code).toBe("QUERY_TOO_COMPLEX");
});
