/** Where a task is: its enclosing tasks, their variables, the nearest timeout, its share of the run's progress. */
import type { Variables } from "../expressions/expressions.ts";
import { follow } from "../lib/abort.ts";
import type { Clock } from "../lib/clock.ts";
import type { Json } from "../lib/json/json.ts";

export type Scope = {
  /** The beginning of the keys of the tasks inside: the enclosing tasks, each as `name#visit`. */
  key: string;
  /** The tries of the enclosing `try` blocks: a row of another round is not this one's result. */
  round: string;
  /** Which try of the nearest `try` block this is, from 1: `$task.attempt`. */
  attempt: number;
  variables: Variables;
  /** How many times each name has been visited here. */
  visits: Map<string, number>;
  /** The nearest end of an enclosing timeout, ms. */
  deadline: number | undefined;
  signal: AbortSignal;
  /** Receives the share of this scope that is done, 0 to 1. */
  progress: (share: number) => void;
};

/** Ends a wait of a scope. */
export type Left = Pick<Scope, "signal" | "deadline">;

/** The result of a task or a block, and where to continue: `continue`, `exit` (leaves the list), `end` (ends the run), a name. */
export type Result = { output: Json; then: string };

/** `exit` leaves the list that contains it, `end` ends the run; after the list the enclosing task's own directive applies. */
export const leave = (own: string, { output, then }: Result): Result => ({
  output,
  then: then === "end" ? "end" : own,
});

/** The key of the next visit of a task here. */
export function enter(scope: Scope, name: string): string {
  const visit = (scope.visits.get(name) ?? 0) + 1;
  scope.visits.set(name, visit);
  return `${scope.key}${name}#${visit}`;
}

/** The scope of the tasks inside a task. */
export const inside = (scope: Scope, key: string, changes: Partial<Scope> = {}): Scope => ({
  ...scope,
  key,
  visits: new Map(),
  ...changes,
});

/** A timeout has ended the task that it belongs to. No `catch` inside that task sees this. */
class TimedOut extends Error {
  readonly deadline: number;
  constructor(deadline: number) {
    super("timed out");
    this.deadline = deadline;
  }
}

/** Runs `work` in a scope that ends at `deadline`; throws `expired()` if this deadline, not an outer one, ends it. */
export async function withDeadline<Result>(
  clock: Clock,
  scope: Scope,
  deadline: number,
  work: (scope: Scope) => Promise<Result>,
  expired: () => Error,
): Promise<Result> {
  const own = follow(scope.signal);
  let reason: TimedOut | undefined;
  const timer = clock.at(deadline, () => own.abort((reason ??= new TimedOut(deadline))));
  const within: Scope = {
    ...scope,
    deadline: Math.min(deadline, scope.deadline ?? Infinity),
    signal: own.signal,
  };
  try {
    if (deadline <= clock.now()) throw (reason ??= new TimedOut(deadline));
    return await work(within);
  } catch (error) {
    throw reason && error === reason ? expired() : error;
  } finally {
    timer[Symbol.dispose]();
    own[Symbol.dispose]();
  }
}
