/** The counts of runs and steps that this process starts, advances and ends. */
import { KINDS, type KindName } from "../../definition/tasks/kinds.ts";
import { ERROR_KINDS, lastSegment, type ErrorKind } from "../../definition/workflow-error.ts";
import type { Change } from "../../execution/journal/loaded-run.ts";
import type { Run, RunError } from "../../execution/run/run.ts";
import { isFinal, isStepOpen, RUN_STATUSES, STEP_STATUSES } from "../../execution/run/states.ts";
import { ACTOR_KINDS, type ActorKind } from "../../lib/actor.ts";
import { countsOf, eachOf, Histogram, type Counts } from "../../lib/figures.ts";
import { JsonText } from "../../lib/json/json-text.ts";
import type { RunStatus, StepStatus } from "../../storage/schema.ts";

/** `other`: authors raise errors of types of their own. */
const FAILURES = [...(Object.keys(ERROR_KINDS) as ErrorKind[]), "other"] as const;
const RUN_ENDS = RUN_STATUSES.filter(isFinal);
const STEP_ENDS = STEP_STATUSES.filter((status) => !isStepOpen(status));
/** `part`: a step of its own that a task made, whatever it calls its kind. */
const STEP_KINDS = [...(Object.keys(KINDS) as KindName[]), "part"] as const;

export type RunFigures = {
  /** By who or what started them. */
  started: Counts<ActorKind>;
  ended: Counts<RunStatus>;
  /** From the start of the work to the end, waits included. */
  seconds: Record<RunStatus, Histogram>;
  failures: Counts<(typeof FAILURES)[number]>;
  steps: Record<(typeof STEP_KINDS)[number], Counts<StepStatus>>;
};

export const createRunFigures = (): RunFigures => ({
  started: countsOf(ACTOR_KINDS),
  ended: countsOf(RUN_ENDS),
  seconds: eachOf(RUN_ENDS, Histogram.ofLongSeconds),
  failures: countsOf(FAILURES),
  steps: eachOf(STEP_KINDS, () => countsOf(STEP_ENDS)),
});

/** A commit. Steps that a cancel ends are not counted: nobody reads them. */
export function countChange(figures: RunFigures, { head, steps }: Change): void {
  for (const { kind, status, finished_at } of steps) {
    // A retry keeps steps that an earlier run ended.
    if (finished_at !== null && finished_at >= head.createdAt && !isStepOpen(status))
      figures.steps[Object.hasOwn(KINDS, kind) ? (kind as KindName) : "part"][status]++;
  }
  if (!isFinal(head.status)) return;
  const { status, startedAt, finishedAt, error } = head;
  countEnd(figures, status, error, startedAt === null ? undefined : finishedAt! - startedAt);
}

/** A run that was ended without its journal. */
export function countEndedRun(figures: RunFigures, { status, startedAt, finishedAt, error }: Run): void {
  const known = error instanceof JsonText ? (error.value as unknown as RunError) : null;
  countEnd(figures, status, known, startedAt === null ? undefined : finishedAt!.getTime() - startedAt.getTime());
}

/** `ms`: how long it ran, if it began. */
function countEnd(figures: RunFigures, status: RunStatus, error: RunError | null, ms: number | undefined): void {
  figures.ended[status]++;
  if (ms !== undefined) figures.seconds[status].observe(ms / 1_000);
  if (status === "failed") figures.failures[failureOf(error?.type ?? "")]++;
}

function failureOf(type: string): keyof RunFigures["failures"] {
  const kind = lastSegment(type);
  return Object.hasOwn(ERROR_KINDS, kind) ? (kind as ErrorKind) : "other";
}
