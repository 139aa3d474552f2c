/** The largest inputs of each operation that takes something that grows (growth.ts). */
import { setTimeout as sleep } from "node:timers/promises";
import type { GrowthCase, Subject } from "./growth.ts";
import { graphql } from "./world.ts";

type Data = Record<string, any>;
type Task = Record<string, unknown>;

const ask = ({ server, world }: Subject, query: string, variables: object = {}): Promise<Data> =>
  graphql<Data>(server, world, query, variables);

const names = new Map<Subject["world"], { count: number; handle: string }>();

/** A text of at most 256 kB, as JSON, which is YAML. */
async function documentOf(subject: Subject, tasks: Task[], more: object = {}): Promise<string> {
  const { world } = subject;
  let known = names.get(world);
  if (!known) {
    const { project } = await ask(subject, "query ($id: ID!) { project(id: $id) { handle } }", { id: world.projectId });
    names.set(world, (known = { count: 0, handle: project.handle }));
  }
  const document = { dsl: "1.0.3", namespace: known.handle, name: `growth-${++known.count}`, version: "1.0.0" };
  return JSON.stringify({ document, ...more, do: tasks });
}

async function publish(subject: Subject, tasks: Task[], more: object = {}): Promise<string> {
  const definition = await documentOf(subject, tasks, more);
  const input = { projectId: subject.world.projectId, definition };
  const { publishAgent } = await ask(
    subject,
    "mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id } }",
    { input },
  );
  return publishAgent.id;
}

async function start(subject: Subject, agentId: string, input: object = {}, more: object = {}): Promise<string> {
  const query = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";
  const { runAgent } = await ask(subject, query, { input: { agentId, input, ...more } });
  return runAgent.id;
}

const POLL_MS = 100;

/** Until it has ended, or has so many steps. */
async function until(subject: Subject, id: string, steps = Infinity): Promise<void> {
  const query =
    "query ($id: ID!) { run(id: $id) { status currentStep error { detail } steps(first: 1, after: 9) { number } } }";
  for (;;) {
    const { run } = await ask(subject, query.replace("after: 9", `after: ${Math.min(steps, 1_000_000) - 1}`), { id });
    if (run.status === "failed") throw new Error(run.error.detail);
    if (run.status === "completed" || run.status === "cancelled" || run.steps.length > 0) return;
    await sleep(POLL_MS);
  }
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const tasks = (count: number, make: (index: number) => object): Task[] =>
  numbers(count).map((index) => ({ [`t${index}`]: make(index) }));
const named = (name: string, task: object): Task => ({ [name]: task });
const loop = (inner: Task[]): Task => named("loop", { for: { in: "${ .items }" }, do: inner });
const each = (inner: Task[], more: object = {}, list = "${ .items }"): Task =>
  named("each", { call: "each:1.0.0@default", with: { in: list, concurrency: 100, do: inner, ...more } });
const set = (value: unknown = 1): object => ({ set: { value } });
const items = (count: number): object => ({ items: numbers(count) });

const hour = { wait: { hours: 1 } };

/** `size` open steps: lists of lists of branches, all of which wait. */
const open = (size: number): { tasks: Task[]; input: object } => {
  const outer = Math.ceil(Math.sqrt(size));
  const inner = each([named("nap", hour)], {}, "${ $input.inner }");
  return {
    tasks: [
      named("outer", {
        call: "each",
        with: {
          in: "${ .items }",
          concurrency: 100,
          do: [{ inner: { input: { from: { inner: "${ . }" } }, ...(inner["each"] as object) } }],
        },
      }),
    ],
    input: { items: numbers(outer).map(() => numbers(Math.floor(size / outer))) },
  };
};

type Shape = { name: string; full: number; of: (size: number) => { tasks: Task[]; input: object } };

/** Runs that end, near the limit of 10,000 steps each. */
const SHAPES: Shape[] = [
  {
    name: "items of a loop",
    full: 9_900,
    of: (size) => ({ tasks: [loop([named("one", set())])], input: items(size) }),
  },
  {
    name: "items of `call: each`",
    full: 9_900,
    of: (size) => ({ tasks: [each([named("one", set())])], input: items(size) }),
  },
  {
    name: "items that fail in `call: each`",
    full: 6_000,
    of: (size) => ({
      tasks: [
        each([named("bad", { raise: { error: { type: "https://a.b/c", status: 400, title: "x" } } })], {
          onError: "collect",
        }),
      ],
      input: items(size),
    }),
  },
  {
    name: "caught errors in a loop",
    full: 3_300,
    of: (size) => ({
      tasks: [
        loop([
          named("attempt", {
            try: [named("bad", { raise: { error: { type: "https://a.b/c", status: 400, title: "x" } } })],
            catch: { do: [named("so", set())] },
          }),
        ]),
      ],
      input: items(size),
    }),
  },
  {
    name: "commits in a loop",
    full: 9_900,
    of: (size) => ({
      tasks: [loop([named("nap", { input: { from: "${ 1 }" }, wait: { milliseconds: 1 } })])],
      input: items(size),
    }),
  },
  {
    name: "commits with a `$context` of 500 kB",
    full: 2_000,
    of: (size) => ({
      tasks: [
        named("keep", { set: "${ .text }", export: { as: "${ . }" } }),
        named("go", { set: { items: "${ $workflow.input.items }" } }),
        loop([named("nap", { input: { from: "${ 1 }" }, wait: { milliseconds: 1 } })]),
      ],
      input: { ...items(size), text: "x".repeat(500_000) },
    }),
  },
  {
    name: "jumps back to a task",
    full: 4_900,
    of: (size) => ({
      tasks: [
        named("more", { set: { n: "${ .n + 1 }", most: "${ .most }" } }),
        named("again", { switch: [{ go: { when: "${ .n < .most }", then: "more" } }, { stop: { then: "end" } }] }),
      ],
      input: { n: 0, most: size },
    }),
  },
  {
    name: "forks of ten in a loop",
    full: 900,
    of: (size) => ({
      tasks: [loop([named("all", { fork: { branches: tasks(10, () => set()) } })])],
      input: items(size),
    }),
  },
];

const advanced = (shape: Shape): GrowthCase => ({
  operation: "a run, to its end",
  input: shape.name,
  full: shape.full,
  prepare: async (subject, size) => {
    const { tasks: list, input } = shape.of(size);
    const agentId = await publish(subject, list);
    return async () => until(subject, await start(subject, agentId, input));
  },
});

/** The run is there; then something is done to it. */
const done = (
  operation: string,
  shape: Shape,
  work: (subject: Subject, id: string) => Promise<unknown>,
): GrowthCase => ({
  operation,
  input: shape.name,
  full: shape.full,
  prepare: async (subject, size) => {
    const { tasks: list, input } = shape.of(size);
    const id = await start(subject, await publish(subject, list), input);
    await until(subject, id);
    return () => work(subject, id);
  },
});

const OPEN: Shape = { name: "open steps", full: 9_900, of: open };
/** Ends after a failure in its last step, so that it can be tried again from there. */
const LAST: Shape = {
  name: "steps before the last",
  full: 9_900,
  of: (size) => ({ tasks: [loop([named("one", set())]), named("last", set())], input: items(size) }),
};

async function retry(subject: Subject, runId: string, fromStep?: number): Promise<void> {
  const query = "mutation ($input: RetryRunInput!) { retryRun(input: $input) { id } }";
  const { retryRun } = await ask(subject, query, { input: { runId, fromStep } });
  await until(subject, retryRun.id);
}

async function readSteps(subject: Subject, id: string): Promise<void> {
  const query =
    "query ($id: ID!, $after: Int) { run(id: $id) { steps(first: 1000, after: $after) { number input output attempts { number } } } }";
  for (let after = 0; ;) {
    const { run } = await ask(subject, query, { id, after });
    if (run.steps.length === 0) return;
    after = run.steps.at(-1).number;
  }
}

/** All values of a subscription over Server-Sent Events, until it completes. */
async function events({ server, world }: Subject, query: string, variables: object, most = Infinity): Promise<number> {
  const response = await fetch(`${server.url}/graphql`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "text/event-stream",
      authorization: `Bearer ${world.apiKey}`,
    },
    body: JSON.stringify({ query, variables }),
  });
  let count = 0;
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    count += chunk.split("event: next").length - 1;
    if (count >= most) break;
  }
  return count;
}

const RUN_EVENTS = "subscription ($runId: ID!) { runEvents(runId: $runId, after: 0) { __typename } }";

async function openSteps(subject: Subject, size: number): Promise<string> {
  const { tasks: list, input } = open(size);
  const id = await start(subject, await publish(subject, list), input);
  await until(subject, id, size);
  // Committed, and not in memory any more.
  await sleep(1_000);
  return id;
}

const cancel = (subject: Subject, id: string): Promise<Data> =>
  ask(subject, "mutation ($id: ID!) { cancelRun(runId: $id) { id } }", { id });

const WORK: GrowthCase[] = [
  ...[SHAPES[0]!, SHAPES[1]!, SHAPES[3]!, SHAPES[7]!].flatMap((shape) => [
    done("runEvents from 0", shape, (subject, runId) => events(subject, RUN_EVENTS, { runId })),
    done("every page of steps", shape, readSteps),
  ]),
  done("retryRun from the last step", LAST, async (subject, id) => {
    const { run } = await ask(subject, "query ($id: ID!) { run(id: $id) { currentStep } }", { id });
    await retry(subject, id, run.currentStep);
  }),
  ...SHAPES.slice(0, 4).map((shape) =>
    done("retryRun from the middle", shape, async (subject, id) => {
      const { run } = await ask(subject, "query ($id: ID!) { run(id: $id) { currentStep } }", { id });
      await retry(subject, id, Math.ceil(run.currentStep / 2));
    }),
  ),
  done("rerunRun", SHAPES[0]!, async (subject, runId) => {
    const query = "mutation ($input: RerunRunInput!) { rerunRun(input: $input) { id } }";
    const { rerunRun } = await ask(subject, query, { input: { runId } });
    await until(subject, rerunRun.id);
  }),
  {
    operation: "a run, to its last wait",
    input: "open steps",
    full: OPEN.full,
    prepare: async (subject, size) => async () => {
      await openSteps(subject, size);
    },
  },
  {
    operation: "cancelRun",
    input: "open steps",
    full: OPEN.full,
    prepare: async (subject, size) => {
      const id = await openSteps(subject, size);
      return () => cancel(subject, id);
    },
  },
  {
    operation: "retryRun of a cancelled one",
    input: "open steps",
    full: OPEN.full,
    prepare: async (subject, size) => {
      const id = await openSteps(subject, size);
      await cancel(subject, id);
      return async () => {
        const query = "mutation ($input: RetryRunInput!) { retryRun(input: $input) { id } }";
        const { retryRun } = await ask(subject, query, { input: { runId: id } });
        await until(subject, retryRun.id, size);
        await sleep(1_000);
      };
    },
  },
];

export const growthCases: GrowthCase[] = [...SHAPES.map(advanced), ...WORK];
