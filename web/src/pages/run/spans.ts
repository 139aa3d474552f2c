/** When a step was being executed: a span for each attempt, because a retry resets the step's own start. */
import type { StepRowFragment } from "../../api/documents.ts";
import type { Span } from "../../lib/time-axis.ts";
import { kindOf } from "./step-kinds.ts";

export type StepSpan = Span & { number: number; status: StepRowFragment["status"] };

type Timed = Pick<StepRowFragment, "status" | "startedAt" | "finishedAt" | "attempts" | "attemptCount">;

/** If there are more attempts than were read (run.graphql), those after them are one span. `now`: ms since 1970. */
export function spansOf({ status, startedAt, finishedAt, attempts, attemptCount }: Timed, now: number): StepSpan[] {
  const end = finishedAt ? Date.parse(finishedAt) : now;
  if (attempts.length < 2 && attemptCount < 2)
    return startedAt ? [{ number: 1, status, from: Date.parse(startedAt), to: end }] : [];
  const spans = attempts.flatMap((attempt) =>
    attempt.startedAt
      ? [
          {
            number: attempt.number,
            status: attempt.status,
            from: Date.parse(attempt.startedAt),
            to: attempt.finishedAt ? Date.parse(attempt.finishedAt) : end,
          },
        ]
      : [],
  );
  const last = spans.at(-1);
  const isCut = last !== undefined && attemptCount > last.number;
  return isCut ? [...spans, { number: attemptCount, status, from: last.to, to: end }] : spans;
}

/** ms from the first attempt's start, with the pauses between attempts. Null before it began, and while it lasts without `now`. */
export function tookOf({ startedAt, finishedAt, attempts }: Timed, now = 0): number | null {
  const from = attempts[0]?.startedAt ?? startedAt;
  const to = finishedAt ? Date.parse(finishedAt) : now;
  return from && to > 0 ? Math.max(0, to - Date.parse(from)) : null;
}

/** For the axis: steps that enclose others are not busy themselves, nor are those that have waited. A wait that has not ended counts as busy. */
export function busyTimes(steps: readonly StepRowFragment[], now: number): Span[] {
  const parents = new Set(steps.map(({ parentNumber }) => parentNumber));
  const hasWaited = (step: StepRowFragment): boolean => kindOf(step).isWait === true && step.finishedAt !== null;
  return steps.flatMap((step) => (parents.has(step.number) || hasWaited(step) ? [] : spansOf(step, now)));
}
