/** Runs that wait for many at once, and what one of them costs; what is taken up after a crash (growth.ts). */
import { setTimeout as sleep } from "node:timers/promises";
import {
  ask,
  documentOf,
  each,
  events,
  items,
  loop,
  named,
  numbers,
  publish,
  set,
  start,
  until,
  type Task,
} from "./growth-subject.ts";
import type { GrowthCase, Subject } from "./growth.ts";

const POLL_MS = 100;
const CANCEL = "mutation ($id: ID!) { cancelRun(runId: $id) { id } }";
const DECIDE = "mutation ($input: DecideApprovalInput!) { decideApproval(input: $input) { id } }";

const approval: Task = named("ask", { call: "approval:1.0.0@default", with: { question: "Well?" } });

/** Lists of lists of branches: `size` times `inner`, all at once. */
function branches(inner: Task, size: number): { tasks: Task[]; input: object } {
  const outer = Math.ceil(Math.sqrt(size));
  const lists = each([inner], {}, "${ $input.inner }");
  const one = { input: { from: { inner: "${ . }" } }, ...(lists["each"] as object) };
  const task = { in: "${ .items }", concurrency: 100, do: [{ inner: one }] };
  return {
    tasks: [named("outer", { call: "each:1.0.0@default", with: task })],
    input: { items: numbers(outer).map(() => numbers(Math.floor(size / outer))) },
  };
}

const RESTS = "query ($id: ID!) { run(id: $id) { status revision } }";

/** Until it has not moved for half a second. */
async function rests(subject: Subject, id: string): Promise<void> {
  let before = -1;
  for (let still = 0; still < 5; await sleep(POLL_MS)) {
    const { run } = await ask(subject, RESTS, { id });
    if (run.status === "failed") throw new Error("the run failed");
    still = run.revision === before ? still + 1 : 0;
    before = run.revision;
  }
}

async function begun(subject: Subject, { tasks, input }: { tasks: Task[]; input: object }): Promise<string> {
  const id = await start(subject, await publish(subject, tasks), input);
  await rests(subject, id);
  return id;
}

const OPEN = "query ($id: ID!) { approvals(filter: { runId: $id, status: open }, first: 200) { nodes { id } } }";

async function decide(subject: Subject, id: string, count: number): Promise<void> {
  const { approvals } = await ask(subject, OPEN, { id });
  const nodes = approvals.nodes as { id: string }[];
  for (const { id: approvalId } of nodes.slice(0, count)) {
    await ask(subject, DECIDE, { input: { approvalId, decision: "approve" } });
  }
  await rests(subject, id);
}

async function decideAll(subject: Subject, id: string): Promise<void> {
  for (;;) {
    const { approvals } = await ask(subject, OPEN, { id });
    const nodes = approvals.nodes as { id: string }[];
    if (nodes.length === 0) return until(subject, id);
    const queue = nodes.values();
    const line = async (): Promise<void> => {
      for (const { id: approvalId } of queue)
        await ask(subject, DECIDE, { input: { approvalId, decision: "approve" } });
    };
    await Promise.all([line(), line(), line(), line()]);
  }
}

const onRun = (
  operation: string,
  input: string,
  full: number,
  make: (subject: Subject, size: number) => Promise<{ tasks: Task[]; input: object }>,
  work: (subject: Subject, id: string) => Promise<unknown>,
): GrowthCase => ({
  operation,
  input,
  full,
  prepare: async (subject, size) => {
    const id = await begun(subject, await make(subject, size));
    return () => work(subject, id);
  },
});

const asked = async (_: Subject, size: number): Promise<{ tasks: Task[]; input: object }> => branches(approval, size);

/** Each branch waits for a run that waits an hour. */
async function families(subject: Subject, size: number): Promise<{ tasks: Task[]; input: object }> {
  const definition = await documentOf(subject, [named("nap", { wait: { hours: 1 } })]);
  const { namespace, name, version } = (JSON.parse(definition) as { document: Record<string, string> }).document;
  const { projectId } = subject.world;
  await ask(subject, "mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id } }", {
    input: { projectId, definition },
  });
  const child = { run: { workflow: { namespace, name, version, input: {} } } };
  const caught = named("safe", { try: [named("child", child)], catch: { do: [named("so", set())] } });
  return branches(caught, size);
}

async function cancelChild(subject: Subject, id: string): Promise<void> {
  const query = "query ($id: ID!) { runs(filter: { startedBy: { kind: run, id: $id } }, first: 1) { nodes { id } } }";
  const { runs } = await ask(subject, query, { id });
  await ask(subject, CANCEL, { id: runs.nodes[0].id });
  await rests(subject, id);
}

/** Longer than what any run sits out: a large one stays in memory, a small one is read again. */
const RESUMES = 5;
const waits: GrowthCase = {
  operation: `a run with ${RESUMES} waits over a second`,
  input: "steps before",
  full: 9_900,
  prepare: async (subject, size) => {
    const agentId = await publish(subject, [
      loop([named("one", set())]),
      ...numbers(RESUMES).map((index) => named(`nap${index}`, { wait: { milliseconds: 1_100 } })),
    ]);
    return async () => until(subject, await start(subject, agentId, items(size)));
  },
};

/** Less than the smallest of them stays in memory. */
const REST_MS = 9_000;
const afterKill: GrowthCase[] = [
  {
    operation: "the start after kill -9",
    input: "steps of a run that rests in memory",
    full: 9_900,
    restarts: true,
    prepare: async (subject, size) => {
      const id = await start(
        subject,
        await publish(subject, [loop([named("one", set())]), named("nap", { wait: { milliseconds: REST_MS } })]),
        items(size),
      );
      await until(subject, id, size + 2);
      return async () => {
        await sleep(REST_MS);
        await until(subject, id);
      };
    },
  },
  {
    operation: "the start after kill -9",
    input: "open runs",
    full: 2_000,
    restarts: true,
    prepare: async (subject, size) => {
      const agentId = await publish(subject, [named("nap", { wait: { milliseconds: 950 } })]);
      const ids: string[] = [];
      const line = async (): Promise<void> => {
        while (ids.length < size) ids.push(await start(subject, agentId));
      };
      await Promise.all(numbers(16).map(line));
      return () => until(subject, ids.at(-1)!);
    },
  },
];

const CHANGES = "subscription { approvalsChanged { id } }";

export const waitCases: GrowthCase[] = [
  {
    operation: "a run, to its pause",
    input: "open approvals",
    full: 4_900,
    prepare: async (subject, size) => async () => void (await begun(subject, await asked(subject, size))),
  },
  {
    operation: "approvalsChanged",
    input: "open approvals",
    full: 4_900,
    prepare: async (subject, size) => async () => {
      const { tasks, input } = await asked(subject, size);
      const told = events(subject, CHANGES, {}, (input as { items: number[][] }).items.flat().length);
      await begun(subject, { tasks, input });
      await told;
    },
  },
  onRun("decideApproval", "open approvals", 4_900, asked, (subject, id) => decide(subject, id, 1)),
  onRun("decideApproval of all", "open approvals", 900, asked, decideAll),
  onRun("cancelRun", "open approvals", 4_900, asked, (subject, id) => ask(subject, CANCEL, { id })),
  {
    operation: "a run, to its last wait",
    input: "open children",
    full: 2_000,
    prepare: async (subject, size) => {
      const made = await families(subject, size);
      return async () => void (await begun(subject, made));
    },
  },
  onRun("a child's end", "open children", 2_000, families, cancelChild),
  onRun("cancelRun", "open children", 2_000, families, (subject, id) => ask(subject, CANCEL, { id })),
  waits,
  ...afterKill,
];
