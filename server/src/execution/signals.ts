/**
 * Whether what a step waits for has come. Concurrent looks share a statement: a run resumed with 10,000 waiting branches
 * asks 40 times, and reads only what has come.
 */
import type { ApprovalId, OrganizationId, RunId } from "../lib/ids.ts";
import { Batch } from "../storage/batch.ts";
import type { Database, Row } from "../storage/database.ts";
import { partitionOf } from "../storage/partitions.ts";
import type { ApprovalStatus, RunStatus } from "../storage/schema.ts";

type Asked<Id> = { organizationId: OrganizationId; id: Id };
type Look<Id, Status> = { add(asked: Asked<Id>): Promise<Status | undefined> };

export type Signals = { approvals: Look<ApprovalId, ApprovalStatus>; children: Look<RunId, RunStatus> };

export const createSignals = (database: Database): Signals => ({
  approvals: look((asked) => readApprovals(database, asked)),
  children: look((asked) => readChildren(database, asked)),
});

function look<Id extends string, Status>(read: (asked: Asked<Id>[]) => Promise<Row[]>): Look<Id, Status> {
  return new Batch<Asked<Id>, Status | undefined>({
    id: ({ id }) => id,
    organizationId: ({ organizationId }) => organizationId,
    bytes: () => 0,
    async write(asked) {
      const rows = await read(asked);
      const found = new Map(rows.map((row) => [row["id"] as Id, row["status"] as Status]));
      return asked.map(({ id }) => found.get(id));
    },
  });
}

const columns = (asked: Asked<string>[]): [OrganizationId[], string[]] => [
  asked.map(({ organizationId }) => organizationId),
  asked.map(({ id }) => id),
];

const readApprovals = (database: Database, asked: Asked<ApprovalId>[]): Promise<Row[]> =>
  database.hot(
    "signals_approvals",
    `select id, status from approvals
      where (organization_id, id) in (select * from unnest($1::uuid[], $2::uuid[]))`,
    columns(asked),
  );

async function readChildren(database: Database, asked: Asked<RunId>[]): Promise<Row[]> {
  const months = Map.groupBy(asked, ({ id }) => partitionOf(database, id));
  const rows = Array.from(months, ([month, some]) =>
    database.hot(
      `signals_children_${month}`,
      `select id, status from runs_${month}
        where (organization_id, id) in (select * from unnest($1::uuid[], $2::uuid[]))`,
      columns(some),
    ),
  );
  return (await Promise.all(rows)).flat();
}
