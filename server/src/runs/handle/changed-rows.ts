/**
 * Changed runs and approvals as their subscribers show them. Concurrent reads share a statement, and what many ask for is
 * read once: 125 subscriptions with 3,000 approvals each would otherwise make 375,000 statements.
 */
import type { ApprovalId, OrganizationId, RunId } from "../../lib/ids.ts";
import { Batch } from "../../storage/batch.ts";
import type { Database, Row } from "../../storage/database.ts";
import { partitionOf } from "../../storage/partitions.ts";
import { APPROVAL_COLUMNS, approvalFromRow, RUN_COLUMNS, runFromRow } from "../../execution/journal/read-rows.ts";
import type { Approval, Run } from "../../execution/run/run.ts";

type Asked<Id> = { organizationId: OrganizationId; id: Id };
/** Reads what is committed at the time of the call, or later. */
type Reader<Id, Shown> = { add(asked: Asked<Id>): Promise<Shown | undefined> };

export type ChangedRows = { runs: Reader<RunId, Run>; approvals: Reader<ApprovalId, Approval> };

export const createChangedRows = (database: Database): ChangedRows => ({
  runs: reader((asked) => readRuns(database, asked), runFromRow),
  approvals: reader((asked) => readApprovals(database, asked), approvalFromRow),
});

function reader<Id extends string, Shown extends Asked<Id>>(
  read: (asked: Asked<Id>[]) => Promise<Row[]>,
  fromRow: (row: Row) => Shown,
): Reader<Id, Shown> {
  return new Batch<Asked<Id>, Shown | undefined>({
    id: ({ id }) => id,
    organizationId: ({ organizationId }) => organizationId,
    bytes: () => 0,
    // Later ones go with the next statement; the other connections stay free for the commits of runs.
    inFlight: 1,
    async write(asked) {
      const each = new Map(asked.map((one) => [`${one.organizationId} ${one.id}`, one]));
      const found = new Map<string, Shown>();
      for (const row of await read([...each.values()])) {
        const shown = fromRow(row);
        found.set(`${shown.organizationId} ${shown.id}`, shown);
      }
      return asked.map(({ organizationId, id }) => found.get(`${organizationId} ${id}`));
    },
  });
}

const columns = (asked: Asked<string>[]): [OrganizationId[], string[]] => [
  asked.map(({ organizationId }) => organizationId),
  asked.map(({ id }) => id),
];

async function readRuns(database: Database, asked: Asked<RunId>[]): Promise<Row[]> {
  const months = Map.groupBy(asked, ({ id }) => partitionOf(database, id));
  const rows = Array.from(months, ([month, some]) =>
    database.hot(
      `changed_runs_${month}`,
      `select ${RUN_COLUMNS} from runs_${month}
        where (organization_id, id) in (select * from unnest($1::uuid[], $2::uuid[]))`,
      columns(some),
    ),
  );
  return (await Promise.all(rows)).flat();
}

const readApprovals = (database: Database, asked: Asked<ApprovalId>[]): Promise<Row[]> =>
  database.hot(
    "changed_approvals",
    `select ${APPROVAL_COLUMNS} from approvals
      where (organization_id, id) in (select * from unnest($1::uuid[], $2::uuid[]))`,
    columns(asked),
  );
