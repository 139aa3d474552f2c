/** Runs near the limit of 10,000 steps: to their end, and what is done to one that is there (growth.ts). */
import { setTimeout as sleep } from "node:timers/promises";
import {
  ask,
  each,
  events,
  items,
  loop,
  named,
  open,
  publish,
  set,
  start,
  tasks,
  until,
  type Task,
} from "./growth-subject.ts";
import type { GrowthCase, Subject } from "./growth.ts";

type Data = Record<string, any>;

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

const OPEN: Shape = { name: "open steps", full: 9_800, of: open };
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

export const runCases: GrowthCase[] = [...SHAPES.map(advanced), ...WORK];
