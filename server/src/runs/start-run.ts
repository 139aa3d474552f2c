/**
 * Accepts a run: answered only after its commit. When a slot is free the start takes its claim in the same statement
 * and the run goes on in this process at once, so its first effect's step is committed with it.
 */
import { createHash } from "node:crypto";
import type { Published } from "../agents/published.ts";
import type { Caller } from "../auth/caller.ts";
import { conflict, notFound } from "../lib/errors.ts";
import type { AgentId, OrganizationId, RunId } from "../lib/ids.ts";
import type { Json } from "../lib/json.ts";
import { wakeNew } from "./admit-runs.ts";
import { executionParts } from "./advance-run.ts";
import { dueAt } from "./due.ts";
import { Execution } from "./execution.ts";
import { forgetKey } from "./forget-keys.ts";
import { execute } from "./interpreter.ts";
import { DuplicateStart, Journal } from "./journal.ts";
import { runOf, type Head } from "./loaded-run.ts";
import { newHead, prepareRun, type NewRun, type Starter } from "./new-run.ts";
import { readRun } from "./read.ts";
import type { Run, Step } from "./run.ts";
import { publish, type Runs } from "./runs.ts";
import { isFinal } from "./states.ts";
import { untilSettled } from "./wait-for-run.ts";

export type StartRequest = {
  agentId: AgentId;
  input: Json;
  /** Good for 24 h per organization and agent: the same key with the same body is the same run. */
  idempotencyKey?: string;
  version?: string;
  /** When it is to begin; a time that has passed is now. */
  runAt?: Date;
  /** Answers when the run ends or pauses, or after this long; with the steps. At most 30 s. */
  waitSeconds?: number;
};

export async function startRun(
  runs: Runs,
  caller: Caller,
  request: StartRequest,
): Promise<{ run: Run; steps?: Step[] }> {
  const prepared = await prepareOrKnown(runs, caller, request);
  if ("run" in prepared) return prepared;
  const later = request.runAt && request.runAt.getTime() > runs.clock.now() ? request.runAt.getTime() : null;
  const waits = request.waitSeconds !== undefined;
  const head = newHead(runs, prepared, {
    organizationId: caller.organizationId,
    startedBy: starterOf(caller),
    runAt: later,
  });
  using settled = waits ? untilSettled(runs, head, request.waitSeconds!) : undefined;
  try {
    const committed = await accept(runs, head, prepared, request, waits);
    return settled ? await settled.result() : { run: runOf(committed) };
  } catch (error) {
    if (!(error instanceof DuplicateStart)) throw error;
    // The key's day may end between the two statements; it is free then.
    return (await known(runs, caller, request)) ?? (await startRun(runs, caller, request));
  }
}

/** The run of the request's idempotency key is answered also when the agent would take no new one by now. */
async function prepareOrKnown(
  runs: Runs,
  caller: Caller,
  request: StartRequest,
): Promise<NewRun | { run: Run; steps?: Step[] }> {
  try {
    return await prepareRun(runs, caller.organizationId, request);
  } catch (refusal) {
    const run = await known(runs, caller, request);
    if (!run) throw refusal;
    return run;
  }
}

export const starterOf = ({ credential, user }: Caller): Starter =>
  credential.kind === "key" ? { kind: "key", id: credential.keyId } : { kind: "user", id: user.id };

const isDueNow = (head: Head): boolean => !head.limited && head.runAt === null;

/** Commits the start and answers what was committed. */
async function accept(
  runs: Runs,
  head: Head,
  { version, inputText }: NewRun,
  request: StartRequest,
  waits: boolean,
): Promise<Head> {
  const claims = isDueNow(head) && runs.engine.executing && runs.slots.tryTake(head.organizationId);
  if (claims) Object.assign(head, { status: "running", startedAt: head.createdAt, epoch: 1 });
  const journal = new Journal({
    head,
    writer: runs.writer,
    published: (change) => publish(runs, change),
    start: {
      input: inputText,
      owner: claims ? runs.instanceId : null,
      wake_at: claims ? null : dueAt(head),
      key: request.idempotencyKey ?? null,
      body_hash: request.idempotencyKey === undefined ? null : bodyHash(request),
    },
  });
  if (claims) await begin(runs, journal, version, waits);
  else {
    await journal.commit(runs.clock.now());
    await wakeNew(runs, head);
  }
  return journal.committed;
}

/**
 * Walks the run up to its first effect before its start is committed, so that both are one statement. What takes longer
 * than this tick (an expression in a worker) does not hold the start up.
 */
async function begin(runs: Runs, journal: Journal, version: Published, waits: boolean): Promise<void> {
  const controller = new AbortController();
  const execution = new Execution({
    journal,
    plan: version.plan,
    parts: executionParts(runs),
    signal: controller.signal,
    startAndEndTogether: waits,
  });
  const { head } = journal;
  runs.loaded.set(head.id, execution);
  const outcome = execute(execution).finally(() => {
    if (runs.loaded.get(head.id) === execution) runs.loaded.delete(head.id);
    runs.slots.release(head.organizationId);
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
    if (goesOn) runs.engine.wake(head.id, { organizationId: head.organizationId });
    // Failed, or another process executes by now; then its next commit would be refused anyway.
    else if (runs.begun.delete(head.id) && !isOver) controller.abort(new Error("nobody follows"));
  }
}

/** The run that the request's idempotency key stands for, also when the agent would take no new one by now. */
async function known(
  runs: Runs,
  caller: Caller,
  request: StartRequest,
): Promise<{ run: Run; steps?: Step[] } | undefined> {
  const key = request.idempotencyKey === undefined ? undefined : await readKey(runs, caller.organizationId, request);
  if (!key) return undefined;
  if (key.body_hash !== bodyHash(request)) throw conflict("the idempotency key was used with another body");
  const run = await readRun(runs, caller.organizationId, key.run_id);
  if (!run) throw notFound("Run");
  if (request.waitSeconds === undefined) return { run };
  using settled = untilSettled(runs, run, request.waitSeconds);
  return await settled.result();
}

/** Undefined when the key's day is over: it is forgotten, and free again. */
async function readKey(
  runs: Runs,
  organizationId: OrganizationId,
  request: StartRequest,
): Promise<{ run_id: RunId; body_hash: string } | undefined> {
  const { agentId, idempotencyKey } = request;
  await forgetKey(runs, organizationId, agentId, idempotencyKey!);
  const [row] = await runs.database.query(
    `select run_id, encode(body_hash, 'hex') as body_hash from idempotency_keys
      where organization_id = $1 and agent_id = $2 and key = $3`,
    [organizationId, agentId, idempotencyKey],
  );
  return row as { run_id: RunId; body_hash: string } | undefined;
}

const bodyHash = (request: StartRequest): string =>
  createHash("sha256")
    .update(JSON.stringify([request.version ?? null, canonical(request.input), request.runAt ?? null]))
    .digest("hex");

/** The same whatever the order of keys. */
function canonical(value: Json): Json {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, canonical(value[key]!)]),
  );
}
