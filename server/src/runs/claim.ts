/**
 * Takes runs for this process in one statement, fenced: the claim raises `epoch`, every later write names it, and only
 * the executor of the database may claim. Claims that meet in one tick are one statement a month. A claimed run is
 * `running`, whether it was `pending` or `paused`: its next commit may then end it.
 */
import type { Clock } from "../lib/clock.ts";
import type { InstanceId, RunId } from "../lib/ids.ts";
import { Batch } from "../storage/batch.ts";
import type { Database, Row } from "../storage/database.ts";
import { partitionOf } from "../storage/partitions.ts";
import { AT_ONCE_SQL } from "./due.ts";
import type { Head, JournalStep } from "./loaded-run.ts";
import { headFromRow, journalStepFromRow } from "./read-rows.ts";
import { CLAIMED_FROM_SQL } from "./states.ts";

export type Claimed = {
  head: Head;
  steps: JournalStep[];
  /** About what all of it takes in memory. Over `READ_AT_ONCE_BYTES` its payloads and steps are not here: `readWhole`. */
  heldBytes: number;
  /** Unclean stops of the process that this run is blamed for since it last moved. */
  blamed: number;
};
/** Undefined: nothing to do for it now, or not ours to take. */
export type Claimer = { add(run: Wanted): Promise<Claimed | undefined> };
type Wanted = Pick<Head, "id" | "organizationId">;

export const createClaimer = (database: Database, instanceId: InstanceId, clock: Clock): Claimer =>
  new Batch<Wanted, Claimed | undefined>({
    id: ({ id }) => id,
    organizationId: ({ organizationId }) => organizationId,
    bytes: () => 4_000,
    write: (wanted) => claimAll(database, instanceId, clock.now(), wanted),
  });

async function claimAll(
  database: Database,
  instanceId: InstanceId,
  now: number,
  wanted: Wanted[],
): Promise<(Claimed | undefined)[]> {
  const claimed = new Map<RunId, Claimed>();
  for (const [month, group] of Map.groupBy(wanted, ({ id }) => partitionOf(database, id))) {
    const ids = group.map(({ id }) => id);
    const rows = await claimRows(database, month, instanceId, now, ids);
    for (const row of rows) {
      const { id, blamed, held_bytes: heldBytes } = row;
      claimed.set(id, { head: headFromRow(row), steps: [], heldBytes, blamed });
    }
    await readJournals(
      database,
      month,
      claimed,
      rows.filter((row) => isReadAtOnce(row["held_bytes"])),
    );
  }
  return wanted.map(({ id }) => claimed.get(id));
}

const claimRows = (
  database: Database,
  month: string,
  instanceId: InstanceId,
  now: number,
  ids: RunId[],
): Promise<Row[]> =>
  database.hot(
    `claim_${month}`,
    `update runs_${month} set epoch = epoch + 1, owner = $1, wake_at = null, status = 'running',
        revision = revision + (status <> 'running')::int,
        started_at = coalesce(started_at, to_timestamp($3::float8 / 1000.0))
      where id = any ($2::uuid[]) and status in (${CLAIMED_FROM_SQL})
        and (owner is not null or wake_at <= to_timestamp($3::float8 / 1000.0))
        and exists (select 1 from executor where instance_id = $1)
      returning ${CLAIMED_COLUMNS}`,
    [instanceId, ids, now],
  );

/** Claims are one statement for 256 runs: what all of them together read so is 16 MiB. */
const READ_AT_ONCE_BYTES = 65_536;
export const isReadAtOnce = (heldBytes: number): boolean => heldBytes <= READ_AT_ONCE_BYTES;

const CLAIMED_COLUMNS = `id, organization_id, project_id, agent_id, version, status, started_by_kind, started_by_id,
  case when held_bytes <= ${READ_AT_ONCE_BYTES} then input end as input, output, error,
  case when held_bytes <= ${READ_AT_ONCE_BYTES} then state end as state, created_at, started_at, finished_at, cancelled_at,
  revision, current_step, progress, run_at, parent_run_id, parent_awaits, retry_of, limited, epoch, wake_seq, blamed,
  held_bytes`;

/** The rest of a large run, once there is room for it. Undefined when it is fenced by now. */
export async function readWhole(
  database: Database,
  { head }: Pick<Claimed, "head">,
): Promise<JournalStep[] | undefined> {
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

/** Gives a claim back that there is no memory for; it is due at once. */
export async function unclaim(database: Database, { id, organizationId, epoch }: Head): Promise<void> {
  await database.query(
    `update runs_${partitionOf(database, id)} set owner = null, wake_at = ${AT_ONCE_SQL}
      where id = $1 and organization_id = $2 and epoch = $3`,
    [id, organizationId, epoch],
    organizationId,
  );
}

/** The steps so far. A run that was never claimed before has none, unless it tries another again. */
async function readJournals(
  database: Database,
  month: string,
  claimed: Map<RunId, Claimed>,
  rows: Row[],
): Promise<void> {
  const ids = rows.flatMap((row) => (row["epoch"] === 1 && row["retry_of"] === null ? [] : [row["id"] as RunId]));
  if (ids.length === 0) return;
  const steps = await database.hot(
    `journal_${month}`,
    `select ${JOURNAL_COLUMNS} from steps_${month} where run_id = any ($1::uuid[]) order by run_id, number`,
    [ids],
  );
  for (const row of steps) claimed.get(row["run_id"])!.steps.push(journalStepFromRow(row));
}

const JOURNAL_COLUMNS = `*, coalesce(octet_length(input::text), 0) + coalesce(octet_length(output::text), 0)
  + coalesce(octet_length(state::text), 0) + coalesce(octet_length(error::text), 0) as bytes`;

/** So many rows are taken apart without a pause: 10,000 at once held the main thread for a tenth of a second. */
const JOURNAL_PAGE = 1_000;

/** The journal of one run that nobody else writes, in the order of its steps. */
export async function readJournalSteps(
  database: Database,
  { id, organizationId }: Pick<Head, "id" | "organizationId">,
): Promise<JournalStep[]> {
  const steps: JournalStep[] = [];
  for (let isLast = false; !isLast;) {
    const rows = await database.query(
      `select ${JOURNAL_COLUMNS} from steps_${partitionOf(database, id)}
        where run_id = $1 and organization_id = $2 and number > $3 order by number limit ${JOURNAL_PAGE}`,
      [id, organizationId, steps.at(-1)?.number ?? 0],
      organizationId,
    );
    for (const row of rows) steps.push(journalStepFromRow(row));
    isLast = rows.length < JOURNAL_PAGE;
  }
  return steps;
}
