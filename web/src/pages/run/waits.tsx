/** The things that a run's open steps wait for, in words, and what a step took and gave. */
import { useMemo } from "react";
import { RunWaitsDocument, SaidDocument, type StepRowFragment } from "../../api/documents.ts";
import { useRead } from "../../api/hooks.ts";
import { showInvisible } from "../../lib/invisible.ts";
import { isObject, type Json } from "../../lib/json.ts";
import { momentText } from "../../lib/times.ts";
import { useReadAgain } from "../../lib/use-read-again.ts";
import { kindOf } from "./step-kinds.ts";

const isWaiting = (step: StepRowFragment): boolean => {
  const { isWait, isQuestion } = kindOf(step);
  return isWait === true && !isQuestion && step.startedAt !== null && step.finishedAt === null;
};

const untilText = (until: string): string => `until ${momentText(Date.parse(until), Date.now())}`;

/** Until when steps wait, by their numbers. Read again, at most once a second, when others wait. */
export function useWaits(id: string, steps: readonly StepRowFragment[]): ReadonlyMap<number, string> {
  const waiting = steps.filter(isWaiting);
  const [{ data }, readAgain] = useRead({ query: RunWaitsDocument, variables: { id }, pause: waiting.length === 0 });
  // Steps begin in the order of their numbers.
  useReadAgain(waiting.at(-1)?.number ?? 0, readAgain);
  const waits = data?.run?.waitingFor;
  return useMemo(
    () =>
      new Map(
        (waits ?? []).flatMap(({ stepNumber, until }) =>
          until === null ? [] : [[stepNumber, untilText(until)] as const],
        ),
      ),
    [waits],
  );
}

/** Events that a step listens for, from its input. */
export function eventsIn(input: unknown): readonly string[] {
  const filters = Array.isArray(input) ? (input as readonly Json[]).filter(isObject) : [];
  return filters.flatMap(({ type, source }) =>
    typeof type === "string" ? [showInvisible(typeof source === "string" ? `${type} of ${source}` : type)] : [],
  );
}

/** Names the events, once its input was read. */
export function AwaitedEvents({ step }: { step: StepRowFragment }) {
  const [{ data }] = useSaid(step, true);
  const events = eventsIn(data?.input);
  return events.length > 0 && <>waits for {events.join(", ")}</>;
}

type Said = { input: unknown; output: unknown };

/** A step's input and output, once they are there. The input stays as it was when the step began. */
export function useSaid({ id }: { id: string }, isThere: boolean) {
  const [{ data, error }, readAgain] = useRead({ query: SaidDocument, variables: { id }, pause: !isThere });
  const said = (data?.node ?? undefined) as Said | undefined;
  return [{ data: said, error }, readAgain] as const;
}
