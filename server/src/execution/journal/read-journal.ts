/** Reads a claimed run from its rows: its steps' rows and, for a large run, its payloads once there is room. */
import type { RunId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { Batch } from "../../storage/batch.ts";
import type { Database } from "../../storage/database.ts";
import { partitionOf } from "../../storage/partitions.ts";
import type { Head, JournalStep } from "./loaded-run.ts";
import { journalStepFromRow } from "./read-rows.ts";

const JOURNAL_COLUMNS = `*, coalesce(octet_length(input::text), 0) + coalesce(octet_length(output::text), 0)
  + coalesce(octet_length(state::text), 0) + coalesce(octet_length(error::text), 0)
  + coalesce(octet_length(response::text), 0) as bytes`;

/** The steps so far of a run that is read at once; requests from one tick share one statement per month. */
export type JournalReader = { add(head: Head, heldBytes: number): Promise<JournalStep[]> };

type Asked = { head: Head; heldBytes: number };

export function createJournalReader(database: Database): JournalReader {
  const batch = new Batch<Asked, JournalStep[]>({
    id: ({ head }) => head.id,
    organizationId: ({ head }) => head.organizationId,
    bytes: ({ heldBytes }) => heldBytes,
    write: (asked) =>
      readSteps(
        database,
        asked.map(({ head }) => head),
      ),
  });
  return {
    add: (head, heldBytes) => {
      // A run that was never claimed has none, unless it retries another.
      const isNew = head.epoch === 1 && head.retryOf === null;
      return isNew ? Promise.resolve([]) : batch.add({ head, heldBytes });
    },
  };
}

async function readSteps(database: Database, heads: Head[]): Promise<JournalStep[][]> {
  const steps = new Map<RunId, JournalStep[]>(heads.map(({ id }) => [id, []]));
  for (const [month, group] of Map.groupBy(heads, ({ id }) => partitionOf(database, id))) {
    const rows = await database.hot(
      `journal_${month}`,
      `select ${JOURNAL_COLUMNS} from steps_${month} where run_id = any ($1::uuid[]) order by run_id, number`,
      [group.map(({ id }) => id)],
    );
    for (const row of rows) steps.get(row["run_id"])!.push(journalStepFromRow(row));
  }
  return heads.map(({ id }) => steps.get(id)!);
}

/** The rest of a large run, once there is room. Undefined if it has been fenced. */
export async function readWhole(database: Database, head: Head): Promise<JournalStep[] | undefined> {
  const [row] = await database.query(
    `select input, state from runs_${partitionOf(database, head.id)} where id = $1 and organization_id = $2 and epoch = $3`,
    [head.id, head.organizationId, head.epoch],
    head.organizationId,
  );
  if (!row) return undefined;
  head.input = row["input"] as Head["input"];
  head.state = (row["state"] as Head["state"] | null) ?? {};
  return readJournalSteps(database, head);
}

/** Rows and bytes read and parsed without a pause: 10,000 rows at once held the main thread for a tenth of a second. */
const JOURNAL_PAGE = 1_000;

/** The journal of one run that nobody else writes, in step order. */
export async function readJournalSteps(
  database: Database,
  { id, organizationId }: Pick<Head, "id" | "organizationId">,
): Promise<JournalStep[]> {
  const steps: JournalStep[] = [];
  for (;;) {
    // PostgreSQL knows the size of a large value without reading it, and reads only those that fit; the first in any case.
    const rows = await database.query(
      `select * from (
         select page.*, sum(bytes) over (order by number) - bytes as bytes_before from (
           select ${JOURNAL_COLUMNS} from steps_${partitionOf(database, id)}
            where run_id = $1 and organization_id = $2 and number > $3 order by number limit ${JOURNAL_PAGE}) page) summed
        where bytes_before < ${LIMITS.batchBytes} order by number`,
      [id, organizationId, steps.at(-1)?.number ?? 0],
      organizationId,
    );
    if (rows.length === 0) return steps;
    for (const row of rows) steps.push(journalStepFromRow(row));
  }
}
