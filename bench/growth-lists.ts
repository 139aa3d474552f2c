/** Lists page by page, what is done to all of a list, and what those hear who watch (growth.ts). */
import { setTimeout as sleep } from "node:timers/promises";
import { ask, events, items, loop, named, numbers, publish, set, start, until } from "./growth-subject.ts";
import type { GrowthCase, Subject } from "./growth.ts";

const LINES = 16;

async function startMany(subject: Subject, agentId: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  let begun = 0;
  const line = async (): Promise<void> => {
    while (begun++ < count) ids.push(await start(subject, agentId));
  };
  await Promise.all(numbers(LINES).map(line));
  return ids;
}

const waiting = (subject: Subject): Promise<string> => publish(subject, [named("nap", { wait: { hours: 1 } })]);
const PAGE = `query ($filter: RunFilter, $after: String) {
  runs(filter: $filter, first: 200, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } }
}`;

async function pages(subject: Subject, filter: object): Promise<void> {
  for (let after: string | null = null; ;) {
    const { runs } = (await ask(subject, PAGE, { filter, after })) as Record<string, any>;
    if (!runs.pageInfo.hasNextPage) return;
    after = runs.pageInfo.endCursor;
  }
}

const listed = (input: string, ended: boolean, filter: (agentId: string) => object): GrowthCase => ({
  operation: "every page of runs",
  input,
  full: 10_000,
  prepare: async (subject, size) => {
    const agentId = ended ? await publish(subject, [named("one", set())]) : await waiting(subject);
    await startMany(subject, agentId, size);
    return () => pages(subject, filter(agentId));
  },
});

const UPDATED = "subscription ($runId: ID!) { runUpdated(runId: $runId) { status steps(first: 10) { number } } }";

const watched: GrowthCase[] = [
  {
    operation: "runUpdated",
    input: "commits of a run",
    full: 9_900,
    prepare: async (subject, size) => {
      const nap = named("nap", { input: { from: "${ 1 }" }, wait: { milliseconds: 1 } });
      const agentId = await publish(subject, [loop([nap])]);
      return async () => {
        const runId = await start(subject, agentId, items(size));
        await events(subject, UPDATED, { runId });
      };
    },
  },
  {
    operation: "runUpdated",
    input: "subscribers of a run",
    full: 200,
    prepare: async (subject, size) => {
      const nap = named("nap", { input: { from: "${ 1 }" }, wait: { milliseconds: 100 } });
      const agentId = await publish(subject, [loop([nap])]);
      return async () => {
        const runId = await start(subject, agentId, items(20));
        await Promise.all(numbers(size).map(() => events(subject, UPDATED, { runId })));
      };
    },
  },
  {
    operation: "runsChanged",
    input: "runs that start and end",
    full: 10_000,
    prepare: async (subject, size) => {
      const agentId = await publish(subject, [named("one", set())]);
      return async () => {
        const told = events(subject, "subscription { runsChanged { id status } }", {}, size);
        await sleep(100);
        await startMany(subject, agentId, size);
        await told;
      };
    },
  },
];

export const listCases: GrowthCase[] = [
  listed("runs of an organization", true, () => ({})),
  listed("runs of an agent", true, (agentId) => ({ agentId })),
  listed("open runs", false, (agentId) => ({ agentId, status: ["running"] })),
  {
    operation: "cancelRuns",
    input: "open runs",
    full: 10_000,
    prepare: async (subject, size) => {
      const agentId = await waiting(subject);
      await startMany(subject, agentId, size);
      const query = "mutation ($input: CancelRunsInput!) { cancelRuns(input: $input) { cancelledCount } }";
      return () => ask(subject, query, { input: { runs: { filter: { agentId } } } });
    },
  },
  {
    operation: "cancelRuns",
    input: "queued runs of an agent with a limit",
    full: 10_000,
    prepare: async (subject, size) => {
      const agentId = await waiting(subject);
      const limit = "mutation ($input: SetAgentLimitInput!) { setAgentLimit(input: $input) { id } }";
      await ask(subject, limit, { input: { agentId, concurrency: 1 } });
      await startMany(subject, agentId, size);
      const query = "mutation ($input: CancelRunsInput!) { cancelRuns(input: $input) { cancelledCount } }";
      return () => ask(subject, query, { input: { runs: { filter: { agentId } } } });
    },
  },
  {
    operation: "runs of an agent with a limit",
    input: "queued runs, each to its end",
    full: 2_000,
    prepare: async (subject, size) => {
      const agentId = await publish(subject, [named("nap", { wait: { milliseconds: 2 } })]);
      const limit = "mutation ($input: SetAgentLimitInput!) { setAgentLimit(input: $input) { id } }";
      await ask(subject, limit, { input: { agentId, concurrency: 4 } });
      return async () => {
        const ids = await startMany(subject, agentId, size);
        await until(subject, ids.toSorted().at(-1)!);
      };
    },
  },
  {
    operation: "agents",
    input: "agents",
    full: 1_000,
    prepare: async (subject, size) => {
      for (let count = 0; count < size; count++) await publish(subject, [named("one", set())]);
      return () => ask(subject, "{ agents { id name version status } }");
    },
  },
  ...watched,
];
