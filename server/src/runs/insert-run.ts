/**
 * The only way to create a run: every start goes through here. If the engine has a place, the run begins here and its
 * first effect's step is committed with it; else it is written as due, to be claimed from the table.
 */
import { setImmediate as othersFirst } from "node:timers/promises";
import { beginRun } from "../execution/begin-run.ts";
import { dueAt } from "../execution/run/due.ts";
import { Journal } from "../execution/journal/journal.ts";
import type { Head, JournalStep } from "../execution/journal/loaded-run.ts";
import type { Brought } from "../execution/journal/part.ts";
import type { ApprovalRow } from "../execution/journal/columns.ts";
import type { Run } from "../execution/run/run.ts";
import { newIdAt, type OrganizationId } from "../lib/ids.ts";
import { unparkAt, unparkRuns } from "./unpark-runs.ts";
import { keyToWrite, type IdempotencyKey } from "./idempotency-key.ts";
import type { PreparedRun } from "./prepare-run.ts";
import { draftToWrite, type TakenDraft } from "./run-draft-texts.ts";
import type { Runs } from "./handle/runs.ts";
import { hintDue } from "./wake-run.ts";

/** Who or what starts a run: a person, a key, another run. */
type Starter = Run["startedBy"];

type Insertion = PreparedRun & {
  key?: IdempotencyKey | undefined;
  /** The rows that are written with it or not at all: those of a trigger. */
  brought?: readonly Brought[];
  /** It waits for another run to end before it may begin; the room that brought it lets it go. */
  isQueued?: boolean;
  /** The sentence that it was reviewed from: written with it, too. */
  draft?: TakenDraft | undefined;
  /** Somebody waits for its end: it is written together with the start if the run needs nothing from outside. */
  waits?: boolean;
  /** The steps of another run that it continues from. */
  kept?: JournalStep[];
  /** The approvals of these steps. */
  keptApprovals?: ApprovalRow[];
};

/**
 * Returns the run as its first commit left it. Throws `RefusedStart` if the idempotency key is taken, or what it
 * brings refuses it; `UndecidedStart` if that is not known yet.
 */
export async function insertRun(runs: Runs, head: Head, insertion: Insertion): Promise<Head> {
  const { executions } = runs;
  const { version, inputText, isQueued = false, waits = false, kept, keptApprovals = [] } = insertion;
  const start = { input: inputText, brought: broughtBy(head, insertion), queued: isQueued };
  const isDue = !head.limited && head.runAt === null;
  // A child's parent already has a place, and a retry may keep 10,000 rows of the old run.
  if (isDue && !head.parent && !kept) {
    const begun = await beginRun(executions, { head, program: version.program, start, withEnd: waits });
    if (begun) {
      countStart(runs, head);
      return begun;
    }
  }
  const journal = new Journal({
    head,
    writer: executions.writer,
    published: executions.surroundings.onCommit,
    start: { ...start, owner: null, wake_at: dueAt(head) },
    ...(kept && { steps: kept }),
  });
  for (const step of kept ?? []) journal.touch(step);
  for (const approval of keptApprovals) journal.openApproval(approval);
  // Writing 10,000 steps takes 50 ms of the thread, and the work before it as much again.
  if (kept) await othersFirst();
  await journal.commit(runs.clock.now());
  countStart(runs, head);
  if (!isQueued) await hintNew(runs, head);
  return journal.committed;
}

function broughtBy(head: Head, { key, draft, brought }: Insertion): readonly Brought[] | undefined {
  if (!key && !draft) return brought;
  return [...(brought ?? []), ...(key ? [keyToWrite(head, key)] : []), ...(draft ? [draftToWrite(head, draft)] : [])];
}

function countStart({ usage, figures }: Runs, { organizationId, startedBy }: Head): void {
  usage.run(organizationId);
  figures.started[startedBy.kind]++;
}

/** A run of an agent with a limit is parked until it is unparked; any other is due at its time. */
async function hintNew(runs: Runs, { id, organizationId, agentId, limited, runAt }: Head): Promise<void> {
  if (!limited) hintDue(runs, organizationId, id, { at: runAt });
  else if (runAt === null) await unparkRuns(runs, organizationId, agentId);
  else unparkAt(runs, organizationId, agentId, runAt);
}

type OwnOfHead = { organizationId: OrganizationId; startedBy: Starter } & Partial<
  Pick<Head, "id" | "runAt" | "parent" | "retryOf" | "limited" | "state">
>;

/** A run that has not begun; `revision` 0: it is not in the database. Field by field: the runtime defines what follows from a spread. */
export const newHead = (
  { clock }: Runs,
  { version: { agent, version }, input }: PreparedRun,
  own: OwnOfHead,
  createdAt = clock.now(),
): Head => ({
  // Lists ask for times by the id: one ms later than the other, and a run was missing from its own.
  id: own.id ?? newIdAt(createdAt),
  organizationId: own.organizationId,
  projectId: agent.projectId,
  agentId: agent.id,
  version,
  status: "pending",
  startedBy: own.startedBy,
  input,
  output: null,
  error: null,
  createdAt,
  startedAt: null,
  finishedAt: null,
  runAt: own.runAt ?? null,
  revision: 0,
  currentStep: null,
  progress: 0,
  parent: own.parent ?? null,
  retryOf: own.retryOf ?? null,
  limited: own.limited ?? agent.concurrencyLimit !== null,
  state: own.state ?? {},
  epoch: 0,
  wakeSeq: 0,
});
