import { afterAll, beforeAll, expect, test } from "vitest";
import { sharedPostgres, type SharedPostgres } from "../../../../test/postgres.ts";
import type { AgentId, OrganizationId, ProjectId, RunId } from "../../lib/ids.ts";
import { allOf } from "../../lib/reach.ts";
import { createLog } from "../../lib/log/log.ts";
import { openDatabase, type Database } from "../../storage/database.ts";
import { migrate } from "../../storage/migrate.ts";
import { listApprovals, type ApprovalFilter, type SortDirection } from "./list-approvals.ts";

const APPROVALS = 300;
const STATUSES = ["open", "approved", "rejected", "expired", "withdrawn"] as const;

const uuid = (kind: number, number: number): string =>
  `00000000-0000-7000-800${kind}-${number.toString(16).padStart(12, "0")}`;
const agent = (number: number): AgentId => uuid(3, number) as AgentId;
const project = (number: number): ProjectId => uuid(2, number) as ProjectId;
const [mine, theirs] = [uuid(1, 0) as OrganizationId, uuid(1, 1) as OrganizationId];

let server: SharedPostgres;
let database: Database;
beforeAll(async () => {
  server = await sharedPostgres();
  const connection = { connectionString: await server.createDatabase() };
  database = openDatabase({ connection, isEmbedded: false, log: createLog("silent") });
  await migrate(database);
  for (const one of made)
    await database.query(
      `insert into approvals (organization_id, id, project_id, agent_id, run_id, step_number, status, question, created_at)
       values ($1, $2, $3, $4, $5, 1, $6, 'Well?', now())`,
      [one.organization, one.id, one.project, one.agent, one.run, one.status],
    );
});
afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

/** Two organizations with two projects of two agents each, and runs that ask three times. */
const made = Array.from({ length: APPROVALS }, (_, number) => ({
  id: uuid(4, (number * 7919) % APPROVALS),
  organization: [mine, theirs][number % 2]!,
  project: project(number % 4),
  agent: agent(number % 8),
  run: uuid(5, (number % 8) + 8 * Math.floor(number / 24)) as RunId,
  status: STATUSES[Math.floor(number / 8) % 5]!,
}));

const FILTERS: Record<string, ApprovalFilter> = {
  all: {},
  open: { status: ["open"] },
  "in several states": { status: ["rejected", "open"] },
  "of a project": { projectId: [project(2)] },
  "of several projects, one of which is not ours": { projectId: [project(0), project(1), project(2)] },
  "of several agents": { agentId: [agent(2), agent(6), agent(7), agent(99)] },
  "of several agents, in several states": { agentId: [agent(2), agent(6)], status: ["expired", "open"] },
  "of an agent and a project": { agentId: [agent(6)], projectId: [project(2)] },
  "of an agent and another project": { agentId: [agent(6)], projectId: [project(0)] },
  "of a run": { runId: [uuid(5, 8) as RunId] },
  "of several runs, open": { runId: [0, 2, 8, 10, 16].map((number) => uuid(5, number) as RunId), status: ["open"] },
  "of runs of an agent": { runId: [0, 2, 8, 10].map((number) => uuid(5, number) as RunId), agentId: [agent(2)] },
  "in no state": { status: [] },
  "of no agent": { agentId: [], status: ["open"] },
};
const cases = Object.entries(FILTERS).flatMap(([title, filter]) =>
  (["asc", "desc"] as const).map((direction) => ({ title, filter, direction })),
);

const has = (list: readonly string[] | undefined, value: string): boolean => !list || list.includes(value);

function expected(organization: OrganizationId, filter: ApprovalFilter, direction: SortDirection): string[] {
  const ids = made
    .filter((one) => one.organization === organization)
    .filter((one) => has(filter.status, one.status) && has(filter.runId, one.run))
    .filter((one) => has(filter.projectId, one.project) && has(filter.agentId, one.agent))
    .map(({ id }) => id)
    .toSorted();
  return direction === "asc" ? ids : ids.toReversed();
}

test.each(cases)("every page of the approvals $title, $direction, whatever its size", async ({ filter, direction }) => {
  for (const organization of [mine, theirs]) {
    for (const first of [1, 7, 200]) {
      const found: string[] = [];
      for (let after: string | undefined, more = true; more;) {
        const page = { first, ...(after !== undefined && { after }) };
        const { items, hasNextPage } = await listApprovals({ database }, allOf(organization), filter, page, direction);
        found.push(...items.map(({ id }) => id));
        after = found.at(-1);
        more = hasNextPage;
        expect(items.length).toBeLessThanOrEqual(first);
      }
      expect(found).toEqual(expected(organization, filter, direction));
    }
  }
});

test("among 100,000 decided ones each list reads the index that has it, whatever the statistics", async () => {
  const connection = { connectionString: await server.createDatabase() };
  await using large = openDatabase({ connection, isEmbedded: false, log: createLog("silent") });
  await migrate(large);
  // In parts: a statement may take 30 s.
  for (let from = 1; from <= 100_000; from += 10_000)
    await large.query(
      `insert into approvals (organization_id, id, project_id, agent_id, run_id, step_number, status, question, created_at)
       select $1, lpad(to_hex(number), 32, '0')::uuid, $2, $3, lpad(to_hex(number), 32, '0')::uuid, 1, 'approved', 'Well?', now()
         from generate_series($4::int, $4::int + 9999) as number`,
      [mine, project(0), agent(0), from],
    );
  await large.query("analyze approvals");
  const buffers: [string, number][] = [];
  const explaining = {
    hot: async (_name: string, text: string, values: unknown[]) => {
      const rows = await large.hot(`x${buffers.length}`, `explain (analyze, buffers, format json) ${text}`, values);
      const [{ Plan: plan }] = rows[0]!["QUERY PLAN"];
      buffers.push([text, plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]]);
      return [];
    },
  } as unknown as Database;
  const after = made[0]!.id;
  for (const direction of ["asc", "desc"] as const)
    for (const filter of [
      {},
      { status: ["open"] },
      { status: ["approved"] },
      { agentId: [agent(1), agent(2)] },
      { agentId: [agent(0)], status: ["open"] },
      { agentId: [agent(0)] },
      { projectId: [project(1)] },
      { projectId: [project(0)], status: ["open", "rejected"] },
      { runId: [uuid(5, 0)], status: ["open"] },
    ] as ApprovalFilter[])
      for (const page of [{ first: 50 }, { first: 50, after }])
        await listApprovals({ database: explaining }, allOf(mine), filter, page, direction);
  expect(buffers).toHaveLength(36);
  // A walk past all others would be thousands.
  for (const [text, blocks] of buffers) expect(blocks, text).toBeLessThan(400);
});
