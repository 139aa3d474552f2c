/**
 * The first stretch of a run that is not in the table yet: walks it up to its first effect before its start is committed,
 * so that both are one statement. Work that takes longer than this tick (an expression in a worker) does not delay the
 * start.
 */
import { setImmediate as afterThisTick } from "node:timers/promises";
import type { Program } from "../definition/program.ts";
import type { Begun, Outcome } from "../engine/engine.ts";
import type { Charge } from "../fairness/fair-pool.ts";
import { heldBytes } from "../lib/json/held-bytes.ts";
import { advanceLoaded, watchOutcome } from "./advance.ts";
import { Execution } from "./execution.ts";
import type { Executions } from "./executions.ts";
import { Journal, type JournalOptions } from "./journal/journal.ts";
import type { Head } from "./journal/loaded-run.ts";
import { neededBytes } from "./memory.ts";

type FirstStretch = {
  head: Head;
  program: Program;
  start: Omit<NonNullable<JournalOptions["start"]>, "owner" | "wake_at">;
  /** If the run needs nothing from outside, its end is written together with its start. */
  withEnd: boolean;
};

/**
 * Returns the run as its first commit left it. Undefined: this process may not advance it, or has no place or memory for
 * it; nothing is written. Throws what the commit throws (`RefusedStart`, `UndecidedStart`).
 */
export async function beginRun(executions: Executions, stretch: FirstStretch): Promise<Head | undefined> {
  const { memory, engine } = executions;
  const { head, start } = stretch;
  const charge = memory.open(head.organizationId);
  const begun = charge.tryHold(neededBytes(heldBytes(start.input))) ? engine.begin(head) : undefined;
  if (!begun) {
    charge[Symbol.dispose]();
    return undefined;
  }
  let started: Promise<Head>;
  try {
    started = walk(executions, begun, charge, stretch);
  } catch (error) {
    charge[Symbol.dispose]();
    begun.advances({ kind: "lost" });
    throw error;
  }
  return started;
}

/** Throws only before anything of it is under way. */
function walk(
  executions: Executions,
  { owner, signal, advances }: Begun,
  charge: Charge,
  { head, program, start, withEnd }: FirstStretch,
): Promise<Head> {
  const { engine, writer, surroundings } = executions;
  Object.assign(head, { status: "running", startedAt: head.createdAt, epoch: 1 });
  const journal = new Journal({
    head,
    writer,
    published: surroundings.onCommit,
    start: { ...start, owner, wake_at: null },
  });
  const execution = new Execution({
    journal,
    program,
    shared: executions,
    signal,
    charge,
    startAndEndTogether: withEnd,
  });
  const outcome = advanceLoaded(executions, execution).finally(() => charge[Symbol.dispose]());
  outcome.catch(() => {});
  const started = commitStart(executions, journal);
  const lost = async (): Promise<Outcome> => {
    // The caller gets the error. If it was written after all, the engine finds it.
    engine.interrupt(head.id);
    await outcome.catch(() => {});
    return { kind: "lost" };
  };
  const { id: runId, organizationId } = head;
  advances(
    watchOutcome(
      executions,
      { organizationId, runId },
      started.then(() => outcome, lost),
    ),
  );
  return started;
}

async function commitStart({ clock }: Executions, journal: Journal): Promise<Head> {
  await afterThisTick();
  await journal.started(clock.now());
  return journal.committed;
}
