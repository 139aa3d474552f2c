/**
 * A part of the statement that writes runs (write.ts): rows of one kind as one parameter, and their SQL. The journal has
 * parts of its own (parts.ts). Other rooms bring theirs when the room's handle is made (executions.ts), so that what they
 * keep of a run is written with it or not at all, and this room does not know what that is.
 */
import type { ApprovalId, OrganizationId, RunId } from "../../lib/ids.ts";
import type { RowSet } from "../../storage/unnest.ts";
import type { RunStatus } from "../../storage/schema.ts";
import type {
  ApprovalChange,
  ApprovalRow,
  AttemptRow,
  ListenerRow,
  ModelCallRow,
  StartRow,
  StepRow,
  UnheardRow,
  UnlistenedRow,
  UpdateRow,
} from "./columns.ts";

export type PartRow = Record<string, unknown>;

/** The facts that a write makes true of a run, as far as a part of another room may ask. Times in ms. */
type Happened = {
  runId: RunId;
  organizationId: OrganizationId;
  /** The rows that other rooms write with the start. */
  brought?: readonly Brought[];
  start?: Pick<StartRow, "status" | "finished_at" | "started_by_kind" | "agent_id">;
  update?: { status: RunStatus; finished_at: number | null };
  approvals: readonly { id: ApprovalId; status: string; created_at: number; notify: boolean }[];
};

/** All that one run commits at once: a start or an update, and the rows that go with it. */
export type Write = Happened & {
  start?: StartRow;
  update?: UpdateRow;
  steps: StepRow[];
  attempts: AttemptRow[];
  approvals: ApprovalRow[];
  approvalChanges: ApprovalChange[];
  modelCalls?: ModelCallRow[];
  listeners?: ListenerRow[];
  unlistened?: UnlistenedRow[];
  unheard?: UnheardRow[];
  /** About how much the payloads weigh, for the batch's limit. */
  bytes: number;
};

export type Part<Of = Write> = {
  /** One letter of the statement's name, of which PostgreSQL keeps 63 bytes. */
  code: string;
  rows: RowSet<PartRow>;
  /** Adds the rows of one write to `rows`. */
  collect(write: Of, rows: PartRow[]): void;
  /** CTEs, to be joined by commas. `from`: the rows. */
  sql(from: string, statement: Statement): string;
};

/** The surroundings of a part's SQL besides its rows. `refused`: selects `run_id` of the starts that no guard lets through, or is empty. */
export type Statement = { month: string; refused: string; has(part: Pick<Part, "code">): boolean };

/** Comes before the start and decides whether it is written. */
export type Guard = Part<Happened> & {
  /** Selects `run_id` of the starts that it refuses. */
  refused?: string;
  /** Selects `run_id` and null of the starts that it can't decide on: somebody has a row locked, for which nobody waits. */
  locked?: string;
};

/**
 * Comes last. Its SQL writes only rows of the runs in the CTE `live`, by their `run_id`. It is also part of the statement that ends a run by
 * itself (commit-end.ts): its CTEs have names of their own in both.
 */
export type Follower = Part<Happened> & {
  /** Called after a commit with such rows. */
  afterCommit?: () => void;
};

/** The parts that other rooms have written with runs. Guards and followers are in the statement in this order. */
export type OtherParts = { guards: readonly Guard[]; followers: readonly Follower[] };

/** A row that a start brings for a part of another room. `bytes`: about what its texts weigh. */
export type Brought = { part: Pick<Part, "code">; row: PartRow; bytes: number };

/** A part whose rows come with starts: `startRun` and the like are given `row(…)`. */
export function startPart<Row extends PartRow, Kind extends Guard | Follower>(
  part: Omit<Kind, "rows" | "collect"> & { rows: RowSet<Row> },
): Omit<Kind, "rows" | "collect"> & Part<Happened> & { row(row: Row, bytes?: number): Brought } {
  const made = {
    ...part,
    rows: part.rows as unknown as RowSet<PartRow>,
    row: (row: Row, bytes = 0): Brought => ({ part: made, row, bytes }),
    collect({ brought }: Happened, rows: PartRow[]): void {
      if (brought) for (const { part: of, row } of brought) if (of === made) rows.push(row);
    },
  };
  return made;
}
