import { afterAll, beforeAll, expect, test } from "vitest";
import { sharedPostgres, type SharedPostgres } from "../../../../test/postgres.ts";
import { realClock, type Clock } from "../../lib/clock.ts";
import type { AgentId, OrganizationId, ProjectId, RunId } from "../../lib/ids.ts";
import { allOf } from "../../lib/reach.ts";
import { createLog } from "../../lib/log/log.ts";
import { openDatabase, type Database } from "../../storage/database.ts";
import { migrate } from "../../storage/migrate.ts";
import { ensurePartitions } from "../../storage/partitions.ts";
import type { RunStatus } from "../../storage/schema.ts";
import { listRuns, newestRunsOfEach } from "./list-runs.ts";
import { listStepsAfter } from "./read.ts";
import type { RunFilter } from "../../execution/run/run.ts";
import { isFinal, RUN_STATUSES } from "../../execution/run/states.ts";

const NOW = Date.parse("2026-11-21T12:00:00Z");
const MONTH_MS = 30 * 86_400_000;
const clock: Clock = { ...realClock, now: () => NOW };
const RUNS = 400;

type Made = { id: string; organization: OrganizationId; project: ProjectId; agent: AgentId; status: RunStatus };

let server: SharedPostgres;
let database: Database;
let made: Made[];

beforeAll(async () => {
  server = await sharedPostgres();
  const connection = { connectionString: await server.createDatabase() };
  database = openDatabase({ connection, isEmbedded: false, log: createLog("silent") });
  await migrate(database);
  // May has no partition of its own; June to January have.
  for (let back = 5; back >= 0; back--) await ensurePartitions(database, NOW - back * MONTH_MS);
  made = Array.from({ length: RUNS }, (_, number) => madeRun(number));
  for (const run of made) await insert(run);
});
afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

const uuid = (kind: number, number: number): string =>
  `00000000-0000-7000-800${kind}-${number.toString(16).padStart(12, "0")}`;

/** Two organizations with two projects of two agents each; over seven months, the last days and a few future days. */
function madeRun(number: number): Made {
  const [organization, project, agent] = [number % 2, number % 4, number % 8];
  const time = NOW + 3 * 86_400_000 - Math.floor(((number * 7919) % RUNS) * ((7 * MONTH_MS) / RUNS));
  const hex = time.toString(16).padStart(12, "0");
  return {
    id: `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${number.toString(16).padStart(12, "0")}`,
    organization: uuid(1, organization) as OrganizationId,
    project: uuid(2, project) as ProjectId,
    agent: uuid(3, agent) as AgentId,
    status: RUN_STATUSES[Math.floor(number / 8) % RUN_STATUSES.length]!,
  };
}

async function insert({ id, organization, project, agent, status }: Made, into = database): Promise<void> {
  const at = new Date(NOW);
  await into.query(
    `insert into runs (id, organization_id, project_id, agent_id, version, status, started_by_kind, started_by_id, input,
       created_at, revision, progress, epoch, wake_seq, finished_at, cancelled_at)
     values ($1, $2, $3, $4, '1.0.0', $5, 'user', $1, '{}', $6, 1, 0, 0, 0, $7, $8)`,
    [id, organization, project, agent, status, at, isFinal(status) ? at : null, status === "cancelled" ? at : null],
  );
}

/** The expected list, in order. */
function expected(organizationId: OrganizationId, filter: RunFilter, after?: string): string[] {
  const least = (date: Date): string => {
    const hex = date.getTime().toString(16).padStart(12, "0");
    return `${hex.slice(0, 8)}-${hex.slice(8)}`;
  };
  return made
    .filter((run) => run.organization === organizationId)
    .filter((run) => !filter.projectId || filter.projectId.includes(run.project))
    .filter((run) => !filter.agentId || filter.agentId.includes(run.agent))
    .filter((run) => !filter.status || filter.status.includes(run.status))
    .filter((run) => !filter.createdFrom || run.id >= least(filter.createdFrom))
    .filter((run) => !filter.createdBefore || run.id < least(filter.createdBefore))
    .map(({ id }) => id)
    .filter((id) => after === undefined || id < after)
    .toSorted()
    .toReversed();
}

const [mine, theirs] = [uuid(1, 0) as OrganizationId, uuid(1, 1) as OrganizationId];
const project = uuid(2, 2) as ProjectId;
const agent = uuid(3, 6) as AgentId;

const FILTERS: Record<string, RunFilter> = {
  all: {},
  "of a project": { projectId: [project] },
  "of several projects": { projectId: [project, uuid(2, 0) as ProjectId, uuid(2, 1) as ProjectId] },
  "of an agent": { agentId: [agent] },
  "of several agents": { agentId: [2, 6, 7, 99].map((number) => uuid(3, number) as AgentId) },
  "of several agents since a time": {
    agentId: [0, 6].map((number) => uuid(3, number) as AgentId),
    createdFrom: new Date(NOW - 5 * MONTH_MS),
    createdBefore: new Date(NOW - MONTH_MS),
  },
  "of an agent and a project": { agentId: [agent], projectId: [project] },
  "of several agents and projects": {
    agentId: [2, 6].map((number) => uuid(3, number) as AgentId),
    projectId: [uuid(2, 0) as ProjectId, project],
  },
  "of an agent, in a state": { agentId: [agent], status: ["failed"] },
  "of several agents, in several states": {
    agentId: [2, 6].map((number) => uuid(3, number) as AgentId),
    status: ["failed", "paused"],
  },
  "in no state": { status: [] },
  "of no agent": { agentId: [], status: ["failed"] },
  "of no project": { projectId: [] },
  ...Object.fromEntries(RUN_STATUSES.map((status) => [status, { status: [status] }])),
  open: { status: ["paused", "pending", "running"] },
  final: { status: ["completed", "failed", "cancelled"] },
  "before a time": { createdBefore: new Date(NOW - 2 * MONTH_MS) },
  "after a time": { createdFrom: new Date(NOW - 2 * MONTH_MS), status: ["failed"] },
  between: { createdFrom: new Date(NOW - 5 * MONTH_MS), createdBefore: new Date(NOW - 3 * MONTH_MS) },
};

test.each(Object.entries(FILTERS))("every page of the runs %s, newest first, whatever its size", async (_, filter) => {
  for (const organizationId of [mine, theirs]) {
    for (const first of [1, 7, 50, 200]) {
      const ids = expected(organizationId, filter);
      const found: string[] = [];
      for (let after: string | undefined, more = true; more;) {
        const page = await listRuns({ database, clock }, allOf(organizationId), filter, {
          first,
          ...(after !== undefined && { after }),
        });
        expect(page.items.length).toBeLessThanOrEqual(first);
        // That there is a next page is true.
        if (ids.length > 0) expect(page.items).not.toEqual([]);
        found.push(...page.items.map(({ id }) => id));
        after = found.at(-1);
        more = page.hasNextPage;
      }
      expect(found).toEqual(ids);
    }
  }
});

test.each([1, 7, 15, 20, 40])("the newest %i runs of each agent, most of them months old", async (first) => {
  const agents = [0, 2, 4, 6, 7, 99].map((number) => uuid(3, number) as AgentId);
  // So that some have more in the newest months than others.
  const before = { ...clock, now: () => NOW - MONTH_MS };
  const pages = await newestRunsOfEach({ database, clock: before }, mine, agents, first);
  for (const id of agents) {
    const all = expected(mine, { agentId: [id] });
    const { items, hasNextPage } = pages.get(id)!;
    expect(items.map((run) => run.id)).toEqual(all.slice(0, first));
    expect(hasNextPage).toBe(all.length > first);
  }
});

test("an agent or a project of another organization has no runs here", async () => {
  for (const filter of [
    { projectId: [project] },
    { agentId: [agent] },
    { agentId: [agent, uuid(3, 2) as AgentId] },
    { projectId: [project, uuid(2, 0) as ProjectId] },
  ]) {
    expect(expected(theirs, filter)).toEqual([]);
    expect((await listRuns({ database, clock }, allOf(theirs), filter, { first: 50 })).items).toEqual([]);
  }
});

test("the steps that changed after a revision: not the one of it, in the order of their revisions, no more than wanted", async () => {
  const { id, organization } = made[0]!;
  // Step 1 changed last.
  for (const [number, revision] of [
    [1, 9],
    [2, 4],
    [3, 5],
    [4, 7],
  ])
    await database.query(
      `insert into steps (run_id, number, organization_id, key, name, kind, status, round, attempt, started_at, revision)
       values ($1, $2, $3, $4, 'one', 'set', 'running', '', 1, $5, $6)`,
      [id, number, organization, `one#${number}`, new Date(NOW), revision],
    );
  const after = async (revision: number, most: number, organizationId = organization): Promise<number[]> =>
    (await listStepsAfter({ database }, { id: id as RunId, organizationId }, revision, most)).map(
      (step) => step.revision,
    );
  expect(await after(0, 10)).toEqual([4, 5, 7, 9]);
  expect(await after(4, 10)).toEqual([5, 7, 9]);
  expect(await after(4, 2)).toEqual([5, 7]);
  expect(await after(9, 10)).toEqual([]);
  expect(await after(0, 10, organization === mine ? theirs : mine)).toEqual([]);
});

/** The generic plan of a hot statement. */
async function planOf(database: Database, name: string, text: string, values: unknown[]): Promise<string> {
  const types = values.map((value) => (typeof value === "number" ? "int" : "uuid")).join(", ");
  const rows = await database.transaction(async (query) => {
    await query("set local plan_cache_mode = force_generic_plan; set local enable_seqscan = off");
    await query(`prepare ${name} (${types}) as ${text}`);
    const plan = await query(`explain execute ${name}(${values.map((value) => `'${String(value)}'`).join(", ")})`);
    await query(`deallocate ${name}`);
    return plan;
  });
  return rows.map((row) => row["QUERY PLAN"] as string).join("\n");
}

test("a list by one thing reads the index that has it, whatever the statistics", async () => {
  const connection = { connectionString: await server.createDatabase() };
  await using database = openDatabase({ connection, isEmbedded: false, log: createLog("silent") });
  await migrate(database);
  await insert({ ...made[0]!, organization: mine, project, agent, status: "failed" }, database);
  // Three agents in turn: their index grows larger than the primary key, which a generic plan then prefers.
  await database.query(
    `insert into runs (id, organization_id, project_id, agent_id, version, status, started_by_kind, started_by_id, input,
       created_at, revision, progress, epoch, wake_seq, finished_at)
     select lpad(to_hex(number), 32, '0')::uuid, organization_id, md5('project' || number % 2)::uuid,
            md5('agent' || number % 3)::uuid, version, status, started_by_kind, started_by_id, input, created_at, revision,
            progress, epoch, wake_seq, finished_at
       from runs, generate_series(1, 20000) as number`,
    [],
  );
  await database.query("analyze runs_default");
  const plans: string[] = [];
  const explaining: Database = {
    ...database,
    hot: async (name, text, values) => {
      plans.push(await planOf(database, name, text, values));
      return [];
    },
  };
  const indexes: [RunFilter, string][] = [
    [{}, "organization_id_id"],
    [{ agentId: [agent] }, "agent_id_id"],
    [{ projectId: [project] }, "project_id_id"],
    [{ status: ["failed"] }, "organization_id_status_id"],
    [{ status: ["completed"] }, "organization_id_id"],
    [{ createdFrom: new Date(0) }, "organization_id_id"],
  ];
  for (const [filter] of indexes) {
    await listRuns({ database: explaining, clock }, allOf(mine), filter, { first: 50, after: made[0]!.id });
  }
  expect(plans).toHaveLength(indexes.length);
  plans.forEach((plan, at) => {
    expect(plan).toMatch(`Index Scan using runs_default_${indexes[at]![1]}_idx on`);
    expect(plan).not.toMatch(/^ *(->)? *Sort/m);
  });
});
