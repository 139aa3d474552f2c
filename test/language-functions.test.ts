/** `use.functions`, and agents that `run: workflow` takes from an expression or whose inputs are checked beforehand. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { start } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { agentOf, ENDED, runOf, stepsOf, until } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";
import { startSink, type Sink } from "./sink.ts";

let server: MovedServer;
let sink: Sink;
beforeAll(async () => {
  [server, sink] = [await movedServer(), await startSink()];
  await agentOf(server, form("do: [{one: {set: '${ . }'}}]"), "formed");
  await agentOf(server, "do: [{one: {set: '${ {got: .} }'}}]", "formless");
});
afterAll(async () => {
  for (const one of [server, sink]) await one[Symbol.asyncDispose]();
});

const form = (rest: string): string =>
  `input: {schema: {document: {type: object, properties: {n: {type: integer}, tags: {type: array, items: {type: string}}}, required: [n]}}}\n${rest}`;

const detailed = async (id: string): Promise<Data[]> =>
  (
    await server.data(
      "query($id: ID!) { run(id: $id) { steps { number parentNumber name kind taskPath input output error { instance stepNumber } } } }",
      { id },
    )
  ).run.steps;

describe("a function", () => {
  const PRICE = `use:
  functions:
    getPrice:
      input: {schema: {document: {type: object, properties: {id: {type: string}}, required: [id]}}}
      do:
        - double: {set: '\${ {price: (2 * (.id | length)), reference: $task.reference} }'}
`;

  test("gets the arguments as its input, and shows its calls as steps with the arguments, its tasks below", async () => {
    const run = await runOf(
      server,
      `${PRICE}do: [{chair: {call: getPrice, with: {id: '\${ .id }'}}}, {table: {call: getPrice, with: {id: abcdef}, output: {as: '\${ {table: .price} }'}}}]`,
      { id: "abc" },
    );
    expect(run).toMatchObject({ status: "completed", output: { table: 12 } });
    const at = "/use/functions/getPrice";
    expect(await detailed(run.id)).toMatchObject([
      { number: 1, parentNumber: null, name: "chair", kind: "function", taskPath: "/do/0/chair", input: { id: "abc" } },
      { number: 2, parentNumber: 1, name: "getPrice", kind: "do", taskPath: at },
      {
        number: 3,
        parentNumber: 2,
        name: "double",
        taskPath: `${at}/do/0/double`,
        output: { price: 6, reference: `${at}/do/0/double` },
      },
      { number: 4, parentNumber: null, name: "table", input: { id: "abcdef" }, output: { table: 12 } },
      { number: 5, parentNumber: 4, name: "getPrice" },
      { number: 6, parentNumber: 5, name: "double" },
    ]);
  });

  test("without arguments gets the task's input", async () => {
    const run = await runOf(server, `${PRICE}do: [{a: {call: getPrice, input: {from: '\${ {id: .other} }'}}}]`, {
      other: "x",
    });
    expect(run.output).toMatchObject({ price: 2 });
  });

  test("that does not get what its schema wants fails at its place, with the step of the call above", async () => {
    const run = await runOf(server, `${PRICE}do: [{a: {do: [{b: {call: getPrice, with: {id: 7}}}]}}]`);
    expect(run).toMatchObject({
      status: "failed",
      error: { type: expect.stringContaining("validation"), instance: "/use/functions/getPrice", stepNumber: 3 },
    });
    expect(stepsOf(run)).toEqual(["a failed", "b failed", "getPrice failed"]);
  });

  test("is called in loops, branches, tries and by other functions, each call with a key of its own", async () => {
    const call = (id: string): string => `{call: send, with: {id: '${id}'}}`;
    const run = await runOf(
      server,
      `use:
  functions:
    send: {call: http, with: {method: post, endpoint: '${sink.url}/f', query: {run: '\${ $workflow.id }', step: '\${ .id }'}}}
    twice: {do: [{a: {call: send, with: {id: '\${ "\\(.id)-a" }'}}}, {b: {call: send, with: {id: '\${ $input.id // "second" }'}}}]}
do:
  - loop: {for: {in: '\${ ["l1", "l2"] }'}, do: [{one: ${call("${ $item }")}}]}
  - both: {fork: {branches: [{left: ${call("left")}}, {right: {call: twice, with: {id: right}}}]}}
  - safe: {try: [{lone: ${call("tried")}}], catch: {do: [{never: {set: {a: 1}}}]}}
  - items: {call: 'each:1.0.0@default', with: {in: '\${ ["e1", "e2"] }', do: [{one: ${call("${ $item }")}}]}}
`,
    );
    expect(run).toMatchObject({ status: "completed" });
    const steps = ["l1", "l2", "left", "right-a", "second", "tried", "e1", "e2"];
    const counts = steps.map((step) => sink.count(run["id"], step));
    expect(counts.map((count) => count?.requests)).toEqual(steps.map(() => 1));
    expect(new Set(counts.flatMap((count) => count!.keys)).size).toBe(steps.length);
  });

  test("sees no variable of the loop around its call, keeps $context, and ends the run with then: end", async () => {
    const run = await runOf(
      server,
      `use: {functions: {note: {set: '\${ {a: (($context // {a: 0}).a + .add)} }', export: {as: '\${ . }'}}, stop: {set: {stopped: true}, then: end}}}
do: [{loop: {for: {in: '\${ [1, 2, 3] }'}, do: [{one: {call: note, with: {add: '\${ $item }'}}}]}}, {keep: {set: '\${ $context }', export: {as: '\${ {sum: .a} }'}}}, {leave: {call: stop}}, {never: {set: {a: 1}}}]
output: {as: '\${ . + $context }'}`,
    );
    expect(run).toMatchObject({ status: "completed", output: { stopped: true, sum: 6 } });
  });

  test("goes on after a wait and after kill -9 with the arguments that it had", async () => {
    const id = await start(
      server,
      await agentOf(
        server,
        `use: {functions: {later: {do: [{pause: {wait: PT1H}}, {done: {set: '\${ {at: .at} }'}}]}}}
do: [{one: {call: later, with: {at: '\${ $runtime.now.iso8601 }'}}}]`,
      ),
    );
    const pausing = await eventually(async () => {
      const steps = await detailed(id);
      return steps.length === 3 && steps;
    });
    await server.kill();
    await server.restart();
    await server.clock.advance(3_600_000);
    const run = await until(server, id, ...ENDED);
    expect(run).toMatchObject({ status: "completed", output: (pausing as Data[])[0]!["input"] });
  });

  test("a failed run is retried from the task in the function that failed", async () => {
    const run = await runOf(
      server,
      `use: {functions: {both: {do: [{first: {set: '\${ {n: 1} }'}}, {second: {call: http, with: {method: post, endpoint: '${sink.url}/refuse/1', query: {run: '\${ $workflow.id }', step: s}}}}]}}}
do: [{one: {call: both}}]`,
    );
    expect(stepsOf(run)).toEqual(["one failed", "both failed", "first completed", "second failed"]);
    const { retryRun } = await server.data("mutation($id: ID!) { retryRun(input: {runId: $id}) { id } }", {
      id: run.id,
    });
    const again = await until(server, retryRun.id, ...ENDED);
    expect(stepsOf(again).slice(0, 3)).toEqual([
      expect.stringContaining("one"),
      expect.stringContaining("both"),
      "first completed",
    ]);
  });
});

describe("run: workflow with an agent from an expression", () => {
  const child = (name: string, more = "", namespace = "test"): string =>
    `do: [{go: {run: {workflow: {namespace: '${namespace}', name: '${name}', version: latest${more}}}}}]`;

  test("starts the agent that it names, with the input that is made for it", async () => {
    const run = await runOf(server, child('${ "form\\(.what)" }', ", input: {all: '${ . }'}", "${ .team }"), {
      what: "less",
      team: "test",
    });
    expect(run).toMatchObject({ status: "completed", output: { got: { all: { what: "less" } } } });
    const whole = await runOf(
      server,
      child("${ $workflow.input.which }").replace("{go: {", "{go: {input: {from: '${ {b: .a} }'}, "),
      { which: "formless", a: 1 },
    );
    expect(whole).toMatchObject({ status: "completed", output: { got: { b: 1 } } });
  });

  test.each([
    ["a number", 7, 'run.workflow.name yields "7", which is not the handle of an agent'],
    ["nothing", null, 'run.workflow.name yields "null", which is not the handle of an agent'],
    ["no handle", "Not A Handle", 'run.workflow.name yields "Not A Handle", which is not the handle of an agent'],
    ["an agent that there is not", "nobody", "there is no agent test/nobody"],
  ])("%s is the error configuration", async (_, which, detail) => {
    const run = await runOf(server, child("${ .which }"), { which });
    expect(run).toMatchObject({ status: "failed", error: { type: expect.stringContaining("configuration"), detail } });
  });

  test("another organization's agents are not there", async () => {
    const run = await runOf(server, child("${ .which }", "", "${ .team }"), {
      which: "formless",
      team: "no-such-project",
    });
    expect(run.error.detail).toBe("there is no agent no-such-project/formless");
  });
});

describe("an input that is written for a child", () => {
  const publish = (input: string, name = "formed", version = "latest"): Promise<Data> =>
    server.graphql("mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }", {
      input: {
        projectId: server.world.projectId,
        definition: `document: {dsl: 1.0.3, namespace: test, name: starts-formed, version: 1.0.${Math.trunc(performance.now() * 1000)}}
use: {functions: {start: {run: {workflow: {namespace: test, name: ${name}, version: ${version}, input: ${input}}}}}}
do: [{go: {call: start}}]`,
      },
    });
  const told = async (...given: Parameters<typeof publish>): Promise<string[]> =>
    ((await publish(...given)).errors?.[0]?.extensions?.["fields"] ?? []).map(
      ({ path, message }: Data) =>
        `${path.replace("input.definition/use/functions/start/run/workflow", "")}: ${message}`,
    );

  test.each([
    ["{n: 1}", []],
    ["{n: '${ .x }', tags: ['${ .y }']}", []],
    ["{n: one}", ["/input/n: the form of test/formed 1.0.0 refuses this: must be a whole number"]],
    ["{tags: ['${ .y }', 7]}", ["/input: n is missing, which the form of test/formed 1.0.0 requires"]],
    [
      "{n: 1, m: '${ .x }'}",
      [expect.stringMatching(/^\/input\/m: the form of test\/formed 1.0.0 refuses this: there is no field "m"/)],
    ],
    ["{n: 1, tags: [a, 7]}", [expect.stringMatching(/^\/input\/tags: the form of test\/formed 1.0.0 refuses this: /)]],
  ])("%s", async (input, problems) => expect(await told(input)).toEqual(problems));

  test("an agent without a form, one that is not there, and one that an expression names are not compared", async () => {
    for (const name of ["formless", "nobody-yet", "'${ .which }'"])
      expect(await told("{anything: 1}", name)).toEqual([]);
    expect(await told("{anything: 1}", "formed", "9.9.9")).toEqual([]);
  });

  test("inputs of children are compared with the forms of at most so many agents", async () => {
    const names = Array.from({ length: LIMITS.childForms + 1 }, (_, at) => `formed-${at}`);
    for (const name of names) await agentOf(server, form("do: [{one: {set: '${ . }'}}]"), name);
    const text = `do: [${names.map((name) => `{${name}: {run: {workflow: {namespace: test, name: ${name}, version: latest, input: {}}}}}`).join(", ")}]`;
    const { errors } = await server.graphql(
      "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }",
      {
        input: {
          projectId: server.world.projectId,
          definition: `document: {dsl: 1.0.3, namespace: test, name: many, version: 1.0.0}\n${text}`,
        },
      },
    );
    expect(errors![0]!.extensions["fields"]).toHaveLength(LIMITS.childForms);
  });

  test("its own form is the one that is being published", async () => {
    const definition = `document: {dsl: 1.0.3, namespace: test, name: recursive, version: 1.0.0}\n${form("do: [{go: {run: {workflow: {namespace: test, name: recursive, version: latest, input: {}}}}}]")}`;
    const { errors } = await server.graphql(
      "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }",
      {
        input: { projectId: server.world.projectId, definition },
      },
    );
    expect(errors![0]!.message).toContain("n is missing, which the form of test/recursive 1.0.0 requires");
  });
});
