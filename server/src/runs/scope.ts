/** Where a task stands: its enclosing tasks, their variables, the nearest timeout, its share of the run's progress. */
import type { Variables } from "../definition/expressions/expressions.ts";
import { follow } from "../lib/abort.ts";
import type { Clock } from "../lib/clock.ts";
import type { Json } from "../lib/json.ts";

export type Scope = {
  /** Leads the keys of the tasks inside: the enclosing tasks, each `name#visit`. */
  key: string;
  /** The tries of the enclosing `try` blocks: a row of another round is not this one's result. */
  round: string;
  /** Which try of the nearest `try` block this is, from 1: `$task.attempt`. */
  attempt: number;
  variables: Variables;
  /** How often each name was entered here. */
  visits: Map<string, number>;
  /** The nearest end of an enclosing timeout, ms. */
  deadline: number | undefined;
  signal: AbortSignal;
  /** Takes the share of this scope that is done, 0 to 1. */
  progress: (share: number) => void;
};

/** What ends a wait of a scope. */
export type Left = Pick<Scope, "signal" | "deadline">;

/** A task's or a block's result and where to go on: `continue`, `exit` (leaves the list), `end` (ends the run), a name. */
export type Result = { output: Json; then: string };

/** `exit` leaves the list it stands in, `end` the run; else the enclosing task's own directive follows. */
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

/** A timeout has ended the task that owns it. Passes every `catch` inside that task. */
export class TimedOut extends Error {
  readonly deadline: number;
  constructor(deadline: number) {
    super("timed out");
    this.deadline = deadline;
  }
}

/** Runs `work` in a scope that ends at `deadline`; throws its own `TimedOut` then, which `owns` tells from an outer one's. */
export async function withDeadline<Result>(
  clock: Clock,
  scope: Scope,
  deadline: number,
  work: (scope: Scope) => Promise<Result>,
  expired: () => Error,
): Promise<Result> {
  using own = follow(scope.signal);
  let reason: TimedOut | undefined;
  const timer = clock.at(deadline, () => own.abort((reason ??= new TimedOut(deadline))));
  const limited: Scope = {
    ...scope,
    deadline: Math.min(deadline, scope.deadline ?? Infinity),
    signal: own.signal,
  };
  try {
    if (deadline <= clock.now()) throw (reason ??= new TimedOut(deadline));
    return await work(limited);
  } catch (error) {
    throw reason && error === reason ? expired() : error;
  } finally {
    timer[Symbol.dispose]();
  }
}
