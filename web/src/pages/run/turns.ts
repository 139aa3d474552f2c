/** An assistant's steps as turns of a conversation: a question to the model, and the calls that it asked for. */
import type { StepRowFragment } from "../../api/documents.ts";
import { tookOf } from "./spans.ts";

/** `question`: to the person who decides about it. A call that was rejected has no step of its own. */
export type Call = { tool?: StepRowFragment; question?: StepRowFragment };
/** `number`: from 1. `calls`: by their place in the answer, from 1. */
export type Turn = { number: number; model: StepRowFragment; calls: ReadonlyMap<number, Call> };

/** `work#1/steps/tool-2-1#1`: the first call of the second turn. */
const PLACE = /\/(model|tool|approval)-(\d+)(?:-(\d+))?#\d+$/;

export const isAssistant = ({ kind }: StepRowFragment): boolean => kind === "assistant";

/** Those whose steps were read, in their order. `assistant`: the number of its step. */
export function turnsOf(steps: readonly StepRowFragment[], assistant: number): Turn[] {
  const models = new Map<number, StepRowFragment>();
  const calls = new Map<number, Map<number, Call>>();
  for (const step of steps) {
    if (step.parentNumber !== assistant) continue;
    const [, kind, turn, call] = PLACE.exec(step.position) ?? [];
    if (kind === "model") models.set(Number(turn), step);
    if (call === undefined) continue;
    const inTurn = calls.get(Number(turn)) ?? new Map<number, Call>();
    calls.set(Number(turn), inTurn);
    inTurn.set(Number(call), { ...inTurn.get(Number(call)), [kind === "tool" ? "tool" : "question"]: step });
  }
  return [...models]
    .toSorted(([a], [b]) => a - b)
    .map(([number, model]) => ({ number, model, calls: calls.get(number) ?? NONE }));
}

const NONE: Turn["calls"] = new Map();

/** `work#1/steps/limit-tokens-1#1`: a question to a person whether there may be more. */
const OF_LIMIT = /\/limit-([a-zA-Z]+)-\d+#\d+$/;

export type LimitAsk = { step: StepRowFragment; limit: string };

export function limitAsksOf(steps: readonly StepRowFragment[], assistant: number): LimitAsk[] {
  return steps.flatMap((step) => {
    const [, limit] = (step.parentNumber === assistant && OF_LIMIT.exec(step.position)) || [];
    return limit === undefined ? [] : [{ step, limit }];
  });
}

/** Nothing of them has changed. */
export const isSameTurn = (one: Turn, other: Turn): boolean =>
  one.model === other.model &&
  one.calls.size === other.calls.size &&
  one.calls.entries().every(([place, { tool, question }]) => {
    const call = other.calls.get(place);
    return call?.tool === tool && call?.question === question;
  });

/** Whether anything in it still lasts. */
export const isTurnOpen = ({ model, calls }: Turn): boolean =>
  model.finishedAt === null ||
  calls.values().some(({ tool, question }) => tool?.finishedAt === null || question?.finishedAt === null);

/** How many of their steps are over. */
export const countOver = (turns: readonly Turn[]): number =>
  turns.reduce(
    (sum, { model, calls }) =>
      sum +
      Number(model.finishedAt !== null) +
      calls
        .values()
        .filter(({ tool }) => tool?.finishedAt)
        .toArray().length,
    0,
  );

export const callCount = (turns: readonly Turn[]): number => turns.reduce((sum, { calls }) => sum + calls.size, 0);

/** Without the time in which people decided, which counts in no limit. Calls of one turn wait at the same time. */
export function workedMs(
  assistant: StepRowFragment,
  turns: readonly Turn[],
  asks: readonly LimitAsk[],
  now: number,
): number {
  const waited = turns.map(({ calls }) =>
    Math.max(0, ...calls.values().map(({ question }) => (question && tookOf(question, now)) ?? 0)),
  );
  for (const { step } of asks) waited.push(tookOf(step, now) ?? 0);
  return Math.max(0, (tookOf(assistant, now) ?? 0) - waited.reduce((sum, ms) => sum + ms, 0));
}
