/** `retryRun` from every kind of place: what is kept, what is done again, and when the journal fits a version no more. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, type Data } from "./client.ts";
import { agentOf, decide, ENDED, ran, readRun, stepsOf, until } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";
import { startSink, type Sink } from "./sink.ts";

let server: MovedServer;
let sink: Sink;
beforeAll(async () => {
  [server, sink] = await Promise.all([movedServer(), startSink()]);
});
afterAll(async () => {
  await Promise.all([server[Symbol.asyncDispose](), sink[Symbol.asyncDispose]()]);
});

const RETRY = "mutation($input: RetryRunInput!) { retryRun(input: $input) { id } }";
const retry = (input: object) => server.graphql(RETRY, { input });
/** Waits until it has ended. */
async function retried(input: object): Promise<Data> {
  const { data } = await retry(input);
  return until(server, data.retryRun.id, ...ENDED);
}

let names = 0;
/** A run of `body`, and `mended` published as version 2.0.0 beside it. */
async function failedRun(body: string, mended?: string, input: object = {}): Promise<Data> {
  const name = `retried-${++names}`;
  const run = await ran(server, await agentOf(server, `do:\n${body}`, name), input);
  if (mended) {
    const definition = `document: {dsl: '1.0.3', namespace: test, name: ${name}, version: '2.0.0'}\ndo:\n${mended}`;
    const { projectId } = server.world;
    await server.data("mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }", {
      input: { projectId, definition },
    });
  }
  return run;
}

const step = (run: Data, name: string): Data => run.steps.find((one: Data) => one.name === name);
const broken = (name: string, condition = "true"): string =>
  `{${name}: {if: '\${ ${condition} }', raise: {error: {type: 'https://example.org/errors/broken', status: 500}}}}`;

test("goes on at the step that failed the run, not at one whose error was caught", async () => {
  const first = await failedRun(`
  - attempt: {try: [${broken("caught")}], catch: {do: [{mended: {set: {a: 1}}}]}}
  - middle: {set: {b: 1}}
  - ${broken("last")}
`);
  await server.clock.advance(1_000);
  const again = await retried({ runId: first.id });
  expect(stepsOf(again)).toEqual(stepsOf(first));
  expect(step(again, "middle").finishedAt).toBe(step(first, "middle").finishedAt);
  expect(step(again, "last").finishedAt).not.toBe(step(first, "last").finishedAt);
});

test("of a run that failed with its output: every step is kept", async () => {
  const output = (text: string): string => `  - one: {set: {a: 1}}\noutput: {as: '\${ ${text} }'}\n`;
  const first = await failedRun(output(`.a | error("none")`), output(".a"));
  expect(first.status).toBe("failed");
  await server.clock.advance(1_000);
  const again = await retried({ runId: first.id, version: "2.0.0" });
  expect(again).toMatchObject({ status: "completed", output: 1 });
  expect(again.steps).toEqual(first.steps);
});

test("of a run that completed only from a step that is named, by its number or its task", async () => {
  const first = await failedRun("  - one: {set: {a: 1}}\n  - two: {set: {a: 2}}\n  - 'die Dritte': {set: {a: 3}}");
  await server.clock.advance(1_000);
  for (const input of [{}, { fromStep: null, fromTask: null }, { version: "1.0.0" }])
    expect((await retry({ runId: first.id, ...input })).errors![0]).toMatchObject({
      message: expect.stringMatching(/fromStep or fromTask/),
      extensions: { code: "CONFLICT", reason: "wrong_state" },
    });
  for (const [from, kept] of [
    [{ fromStep: 1 }, 0],
    [{ fromTask: "two" }, 1],
    [{ fromTask: "die Dritte" }, 2],
  ] as const) {
    const again = await retried({ runId: first.id, ...from });
    expect(stepsOf(again)).toEqual(stepsOf(first));
    const same = again.steps.filter(({ finishedAt }: Data, at: number) => finishedAt === first.steps[at].finishedAt);
    expect(same).toHaveLength(kept);
  }
});

test("a task's name must name one step: of several the numbers are told, and a number beside it is refused", async () => {
  const first = await failedRun(
    "  - loop: {for: {in: '${ [1, 2, 3] }'}, do: [{again: {set: {a: 1}}}]}\n  - last: {set: {b: 1}}",
  );
  const numbers = first.steps.filter(({ name }: Data) => name === "again").map(({ number }: Data) => number);
  expect(numbers).toHaveLength(3);
  const refusal = async (input: object) => (await retry({ runId: first.id, ...input })).errors![0];
  expect(await refusal({ fromTask: "again" })).toMatchObject({
    message: expect.stringContaining(`(${numbers.join(", ")})`),
    extensions: { code: "BAD_USER_INPUT", fields: [{ path: "input.fromTask", code: "repeated" }] },
  });
  for (const fromTask of ["nobody", "", "again#1", "x".repeat(1_000)])
    expect(await refusal({ fromTask })).toMatchObject({
      extensions: { code: "BAD_USER_INPUT", fields: [{ path: "input.fromTask", code: "unknown" }] },
    });
  expect(await refusal({ fromTask: "last", fromStep: 1 })).toMatchObject({
    extensions: { code: "BAD_USER_INPUT", fields: [{ path: "input.fromTask" }] },
  });
});

test("the approvals that it keeps are its own, with who decided and what", async () => {
  const ask = (name: string): string =>
    `  - ${name}: {call: 'approval:1.0.0@default', with: {question: "${name}?", context: {of: ${name}}, onReject: continue, form: {type: object, properties: {why: {type: string}}}}}\n`;
  const again = `  - loop: {for: {in: '\${ [1, 2] }'}, do: [${ask("each").trim().slice(2).replace(/^/, "{")}}]}\n`;
  const first = await failedRun(`${ask("one")}${again}  - ${broken("last")}\n`);
  const decisions: object[] = [
    { comment: "fine", answer: { why: "because" } },
    { answer: { why: "first" } },
    { comment: "second" },
  ];
  for (const more of decisions) await decide(server, first.id, "approve", more);
  expect((await until(server, first.id, ...ENDED)).status).toBe("failed");
  const SHOWN = `query($id: ID!) { run(id: $id) { approvals { nodes { id status question context comment answer form stepNumber
    createdAt decidedAt decidedBy { kind id name } run { id } agent { id } } } } }`;
  const approvalsOf = async (id: string): Promise<Data[]> =>
    (await server.data(SHOWN, { id })).run.approvals.nodes as Data[];
  const old = await approvalsOf(first.id);
  expect(old.map(({ comment }) => comment)).toEqual(["second", null, "fine"]);
  await server.clock.advance(1_000);
  const run = await retried({ runId: first.id });
  const kept = await approvalsOf(run.id);
  const own = { id: null, run: null };
  expect(kept.map((one) => ({ ...one, ...own }))).toEqual(old.map((one) => ({ ...one, ...own })));
  expect(kept.every((one) => one.run.id === run.id)).toBe(true);
  expect(kept.map(({ id }) => id)).not.toEqual(expect.arrayContaining([old[0]!.id]));
  // From the second question on: the first decision is kept, the others are asked again.
  const { data } = await retry({ runId: run.id, fromStep: kept[1]!.stepNumber });
  const asking = await until(server, data.retryRun.id, "paused");
  expect(asking.approvals.nodes.map(({ status, question }: Data) => [status, question])).toEqual([
    ["open", "each?"],
    ["approved", "one?"],
  ]);
  // The old runs' are as they were.
  expect(await approvalsOf(first.id)).toEqual(old);
});

test("an approval that has expired is kept as its own, too", async () => {
  const ask = "{late: {call: 'approval:1.0.0@default', with: {question: Late?, timeout: PT1H}}}";
  const first = await failedRun(`  - try: {try: [${ask}], catch: {}}\n  - ${broken("last")}\n`);
  await server.clock.advance(3_600_000);
  expect((await until(server, first.id, ...ENDED)).status).toBe("failed");
  const run = await retried({ runId: first.id });
  const { run: shown } = await server.data(
    "query($id: ID!) { run(id: $id) { approvals { nodes { id status } } steps { name approval { id run { id } } } } }",
    { id: run.id },
  );
  const [kept] = shown.approvals.nodes;
  expect(shown.approvals.nodes).toEqual([{ id: kept.id, status: "expired" }]);
  expect(step(shown, "late").approval).toEqual({ id: kept.id, run: { id: run.id } });
});

/** The call of the first run may be left before it is sent. */
const branches = (condition: string, url: string): string => `
  - both:
      fork:
        branches:
          - ask: {call: 'approval:1.0.0@default', with: {question: Really?}}
          - call: {call: http, with: {method: GET, endpoint: '${url}'}}
          - work: {do: [{pause: {wait: {milliseconds: 50}}}, ${broken("last", condition)}]}
`;

test("in a branch: what the others had begun is done again, with a question and a call of its own", async () => {
  const first = await failedRun(
    branches("true", `${sink.url}/hang?run=left&step=1`),
    branches("false", `${sink.url}?run=again&step=1`),
  );
  expect(stepsOf(first)).toEqual([
    "both failed",
    "ask cancelled",
    "call cancelled",
    "work failed",
    "pause completed",
    "last failed",
  ]);
  const { data } = await retry({ runId: first.id, version: "2.0.0" });
  expect((await decide(server, data.retryRun.id, "approve")).errors).toBeUndefined();
  const again = await until(server, data.retryRun.id, ...ENDED);
  expect(again).toMatchObject({ status: "completed", output: [{ approved: true }, { received: 1 }, {}] });
  expect(step(again, "call").attempts).toHaveLength(1);
  expect(step(again, "pause").finishedAt).toBe(step(first, "pause").finishedAt);
});

test("from a step behind the failed one in another branch: the failed one is done again, too", async () => {
  const body = (condition: string): string =>
    `  - both: {fork: {branches: [${broken("bad", condition)}, {other: {wait: {milliseconds: 200}}}]}}\n`;
  const first = await failedRun(body("true"), body("false"));
  expect(stepsOf(first)).toEqual(["both failed", "bad failed", "other cancelled"]);
  const again = await retried({ runId: first.id, fromStep: 3, version: "2.0.0" });
  expect(stepsOf(again)).toEqual(["both completed", "bad skipped", "other completed"]);
});

test("a task that took too long goes on in the middle, with a new time", async () => {
  const first = await failedRun(
    "  - work: {timeout: {after: PT1.5S}, do: [{one: {set: {a: 1}}}, {two: {wait: '${ $workflow.input.pause }'}}]}\n",
    "  - work: {timeout: {after: PT30S}, do: [{one: {set: {a: 1}}}, {two: {wait: PT0.1S}}]}\n",
    { pause: "PT1H" },
  );
  expect(stepsOf(first)).toEqual(["work failed", "one completed", "two cancelled"]);
  await server.clock.advance(60_000);
  const again = await retried({ runId: first.id, version: "2.0.0" });
  expect(again).toMatchObject({ status: "completed", output: { a: 1 } });
  expect(step(again, "one").finishedAt).toBe(step(first, "one").finishedAt);
});

test("in a try whose tries were used up: they are counted from one again, and so are their times", async () => {
  const first = await failedRun(`
  - attempt:
      try:
        - one: {set: {a: 1}}
        - call: {call: http, with: {method: GET, endpoint: '${sink.url}/refuse/3?run=try&step=1'}}
      catch: {retry: {limit: {attempt: {count: 1, duration: PT5S}, duration: PT10S}}}
`);
  expect(first.status).toBe("failed");
  await server.clock.advance(20_000);
  const again = await retried({ runId: first.id });
  expect(again).toMatchObject({ status: "completed", output: { received: 4 } });
});

test.each([true, false])(
  "$context is what the kept steps had made of it; the run's end was awaited: %s",
  async (waits) => {
    const add = (what: string): string => `export: {as: '\${ ($context // []) + ["${what}"] }'}`;
    const agentId = await agentOf(
      server,
      `
do:
  - one: {set: {n: 1}, ${add("one")}}
  - group:
      do:
        - two: {set: {n: 2}, ${add("two")}}
        - three: {try: [{inner: {set: {n: 3}}}], catch: {}, ${add("three")}}
      ${add("group")}
  - four: {set: {n: 4}, ${add("four")}}
  - last: {set: {context: '\${ $context }'}}
`,
    );
    const whole = ["one", "two", "three", "group", "four"];
    const started = await server.data("mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }", {
      input: { agentId, ...(waits && { wait: 30 }) },
    });
    const first = await until(server, started.runAgent.id, "completed");
    expect(first.output).toEqual({ context: whole });
    for (const { number } of first.steps) {
      const again = await retried({ runId: first.id, fromStep: number });
      expect(again, `from ${number}`).toMatchObject({ status: "completed", output: { context: whole } });
    }
  },
);

const ONE = "{one: {set: {n: 1}}}";
const TWO = "{two: {set: {n: 2}}}";
const NEW = "{new: {set: {n: 9}}}";
const BAD = broken("bad");
const list = (...tasks: string[]): string => tasks.map((task) => `  - ${task}\n`).join("");
const loop = (...tasks: string[]): string => `  - loop: {for: {in: '\${ [1] }'}, do: [${tasks.join(", ")}]}\n`;
const attempt = (...tasks: string[]): string => `  - attempt: {try: [${BAD}], catch: {do: [${tasks.join(", ")}]}}\n`;
const jump = (then: string): string => `{jump: {switch: [{to: {then: ${then}}}]}}`;

test.each([
  [
    "a task before a kept one",
    list(ONE, TWO, BAD),
    list(ONE, NEW, TWO, BAD),
    "step 2 (two, set)",
    "comes to new before it",
  ],
  ["another order", list(ONE, TWO, BAD), list(TWO, ONE, BAD), "step 1 (one, set)", "comes to two before it"],
  ["a first task", list(ONE, BAD), list(NEW, ONE, BAD), "step 1 (one, set)", "comes to new before it"],
  ["in a loop", loop(ONE, TWO, BAD), loop(ONE, NEW, TWO, BAD), "step 3 (two, set)", "comes to new before it"],
  ["in a catch", attempt(ONE, TWO, BAD), attempt(NEW, ONE, TWO, BAD), "step 3 (one, set)", "comes to new before it"],
  [
    "no place to go on at",
    list(jump("bad"), ONE, BAD),
    list("{jump: {switch: [{to: {then: one}}]}}", ONE, broken("worse")),
    "step 1 (jump, switch)",
    "has no task bad to go on at",
  ],
  [
    "an end before it",
    list(ONE, TWO, BAD),
    list("{one: {set: {n: 1}, then: exit}}", TWO, BAD),
    "step 2 (two, set)",
    "does not come to it",
  ],
])("a version with %s does not fit, and the step is named", async (_, body, mended, named, why) => {
  const first = await failedRun(body, mended);
  const { errors } = await retry({ runId: first.id, version: "2.0.0" });
  const message = `${named} does not fit: version 2.0.0 ${why}`;
  expect(errors?.[0]).toMatchObject({ message, extensions: { code: "CONFLICT" } });
});

test("a version with a task before the failed one fits", async () => {
  const first = await failedRun(list(ONE, BAD), list(ONE, NEW, broken("bad", "false")));
  const again = await retried({ runId: first.id, version: "2.0.0" });
  expect(stepsOf(again)).toEqual(["one completed", "new completed", "bad skipped"]);
  expect(step(again, "one").finishedAt).toBe(step(first, "one").finishedAt);
});

test.each([
  ["branches", (one: (name: string) => string) => `fork: {branches: [${one("left")}, ${one("right")}]}`],
  [
    "items",
    (one: (name: string) => string) => `call: 'each:1.0.0@default', with: {in: '\${ [1, 2] }', do: [${one("bad")}]}`,
  ],
])("of %s that failed together all are done again", async (_, together) => {
  const body = (condition: string): string => `  - all: {${together((name) => broken(name, condition))}}\n`;
  // The first that fails keeps those from beginning that had not begun yet, so it may take some runs until two do together.
  const first = await eventually(async () => {
    const run = await failedRun(body("true"), body("false"));
    return run.steps.length === 3 && run;
  });
  expect(first.steps.map(({ status }: Data) => status)).toEqual(["failed", "failed", "failed"]);
  const again = await retried({ runId: first.id, version: "2.0.0" });
  expect(again).toMatchObject({ status: "completed", error: null });
  expect(again.steps.map(({ status }: Data) => status)).toEqual(["completed", "skipped", "skipped"]);
});

test("twice, after steps that were done again beside one that went on: it keeps its place behind those before it", async () => {
  const body = (first: string, pause: string): string => `
  - all:
      fork:
        branches:
          - left: {do: [{first: ${first}}, {second: {set: {a: 1}}}, {third: {set: {a: 1}}}, ${broken("bad")}]}
          - right:
              do:
                - before: {set: {a: 1}}
                - inner: {do: [{pause: {wait: ${pause}}}, {late: {set: {a: 1}}}, {rest: {wait: PT9H}}]}
`;
  const first = await failedRun(body("{set: {a: 1}}", "PT1H"), body("{wait: PT2H}", "PT1H"));
  const { data } = await retry({ runId: first.id, fromTask: "first", version: "2.0.0" });
  // A wait that begins after the clock was moved ends that much later.
  await eventually(async () => {
    const run = await readRun(server, data.retryRun.id);
    return ["first", "pause"].every((name) => step(run, name)?.status === "running");
  });
  await server.clock.advance(3_600_000);
  const goesOn = await eventually(async () => {
    const run = await readRun(server, data.retryRun.id);
    return step(run, "rest") && run;
  });
  expect(step(goesOn, "first").status).toBe("running");
  expect(step(goesOn, "late").number).toBeGreaterThan(step(goesOn, "pause").number);
  const inside = await server.data("query($id: ID!, $in: Int) { run(id: $id) { steps(parentNumber: $in) { name } } }", {
    id: goesOn.id,
    in: step(goesOn, "inner").number,
  });
  expect(inside.run.steps.map(({ name }: Data) => name)).toEqual(["pause", "late", "rest"]);
  await server.clock.advance(3_600_000);
  const again = await until(server, goesOn.id, ...ENDED);
  expect((await retry({ runId: again.id })).errors).toBeUndefined();
});
