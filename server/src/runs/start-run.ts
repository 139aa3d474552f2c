/**
 * Accepts a run: answered only after its commit. When a place is free the start takes its claim in the same statement
 * and the run goes on in this process at once, so its first effect's step is committed with it.
 */
import type { Published } from "../agents/published.ts";
import type { Caller } from "../auth/caller.ts";
import { heldBytes } from "../lib/held-bytes.ts";
import type { AgentId } from "../lib/ids.ts";
import type { Json } from "../lib/json.ts";
import type { Charge } from "../lib/run-memory.ts";
import { wakeNew } from "./admit-runs.ts";
import { committed, executionParts } from "./advance-run.ts";
import { dueAt } from "./due.ts";
import { Execution } from "./execution.ts";
import { keyColumns, startOnce, type IdempotencyKey } from "./idempotency-key.ts";
import { execute } from "./interpreter.ts";
import { Journal } from "./journal.ts";
import { runOf, type Head } from "./loaded-run.ts";
import { neededBytes } from "./memory.ts";
import { newHead, prepareRun, type NewRun, type Starter } from "./new-run.ts";
import type { Run, Step } from "./run.ts";
import type { Runs } from "./runs.ts";
import { isFinal } from "./states.ts";
import { untilSettled } from "./wait-for-run.ts";

export type StartRequest = {
  agentId: AgentId;
  input: Json;
  /** Good for 24 h per organization and agent: the same key with the same body is the same run. */
  idempotencyKey?: string;
  /** What the key stands for when it is not this request itself. */
  body?: Json;
  version?: string;
  /** When it is to begin; a time that has passed is now. */
  runAt?: Date;
  /** Answers when the run ends or pauses, or after this long; with the steps. At most 30 s. */
  waitSeconds?: number;
};

type Started = { run: Run; steps?: Step[] };

export async function startRun(runs: Runs, caller: Caller, request: StartRequest): Promise<Started> {
  const key = keyOf(caller, request);
  return startOnce(runs, key, {
    start: () => startNew(runs, caller, request, key),
    known: async (run) => {
      if (request.waitSeconds === undefined) return { run };
      using settled = untilSettled(runs, run, request.waitSeconds);
      return await settled.result();
    },
  });
}

function keyOf({ organizationId }: Caller, request: StartRequest): IdempotencyKey | undefined {
  const { agentId, idempotencyKey: text, version, input, runAt } = request;
  if (text === undefined) return undefined;
  const body = request.body ?? [version ?? null, input, runAt?.toJSON() ?? null];
  return { organizationId, agentId, text, body };
}

async function startNew(
  runs: Runs,
  caller: Caller,
  request: StartRequest,
  key: IdempotencyKey | undefined,
): Promise<Started> {
  const prepared = await prepareRun(runs, caller.organizationId, request);
  const later = request.runAt && request.runAt.getTime() > runs.clock.now() ? request.runAt.getTime() : null;
  const waits = request.waitSeconds !== undefined;
  const head = newHead(runs, prepared, {
    organizationId: caller.organizationId,
    startedBy: starterOf(caller),
    runAt: later,
  });
  using settled = waits ? untilSettled(runs, head, request.waitSeconds!) : undefined;
  const committed = await accept(runs, head, prepared, key, waits);
  return settled ? await settled.result() : { run: runOf(committed) };
}

export const starterOf = ({ credential, user }: Caller): Starter =>
  credential.kind === "key" ? { kind: "key", id: credential.keyId } : { kind: "user", id: user.id };

const isDueNow = (head: Head): boolean => !head.limited && head.runAt === null;

/** Commits the start and answers what was committed. */
async function accept(
  runs: Runs,
  head: Head,
  { version, inputText }: NewRun,
  key: IdempotencyKey | undefined,
  waits: boolean,
): Promise<Head> {
  const charge = runs.memory.open(head.organizationId);
  const claims = isDueNow(head) && runs.engine.executing && tryBegin(runs, head, charge, inputText);
  if (claims) Object.assign(head, { status: "running", startedAt: head.createdAt, epoch: 1 });
  const journal = new Journal({
    head,
    writer: runs.writer,
    published: committed(runs),
    start: {
      input: inputText,
      owner: claims ? runs.instanceId : null,
      wake_at: claims ? null : dueAt(head),
      ...keyColumns(key),
    },
  });
  if (claims) await begin(runs, journal, version, charge, waits);
  else {
    await journal.commit(runs.clock.now());
    await wakeNew(runs, head);
  }
  return journal.committed;
}

/** A place, and the memory for its input; without both the run waits in the table. */
function tryBegin(runs: Runs, { organizationId }: Head, charge: Charge, inputText: string): boolean {
  if (!runs.places.tryTake(organizationId)) return false;
  if (charge.tryHold(neededBytes(heldBytes(inputText)))) return true;
  runs.places.release(organizationId);
  return false;
}

/**
 * Walks the run up to its first effect before its start is committed, so that both are one statement. What takes longer
 * than this tick (an expression in a worker) does not hold the start up.
 */
async function begin(runs: Runs, journal: Journal, version: Published, charge: Charge, waits: boolean): Promise<void> {
  const controller = new AbortController();
  const execution = new Execution({
    journal,
    plan: version.plan,
    parts: executionParts(runs),
    signal: controller.signal,
    charge,
    startAndEndTogether: waits,
  });
  const { head } = journal;
  runs.loaded.set(head.id, execution);
  const outcome = execute(execution).finally(() => {
    if (runs.loaded.get(head.id) === execution) runs.loaded.delete(head.id);
    charge[Symbol.dispose]();
  });
  outcome.catch(() => {});
  // Before the commit: from then on the engine may find the run, and must not take it for one that nobody advances.
  runs.begun.set(head.id, {
    follow: (signal) => {
      signal.addEventListener("abort", () => controller.abort(signal.reason), { once: true });
      return outcome;
    },
  });
  let goesOn = false;
  let isOver = false;
  try {
    await new Promise<void>((resolve) => setImmediate(resolve));
    await journal.started(runs.clock.now());
    isOver = isFinal(journal.committed.status);
    goesOn = !isOver && runs.engine.executing;
  } finally {
    const { id, organizationId } = head;
    if (goesOn) runs.engine.wake(id, { organizationId, hasPlace: true });
    else {
      // Failed, or another process executes by now; then its next commit would be refused anyway.
      if (runs.begun.delete(id) && !isOver) controller.abort(new Error("nobody follows"));
      const release = (): void => runs.places.release(organizationId);
      outcome.then(release, release);
    }
  }
}
