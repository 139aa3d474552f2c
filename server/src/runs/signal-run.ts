/**
 * `signalRun`: an event for one run. It is written, the steps that listen are told, and the run is made due in one transaction, behind a lock of the
 * run's row. A step that begins to listen is committed with that row too, and looks through what is there after that: one of them sees the other.
 */
import { createHash } from "node:crypto";
import { canonicalJson } from "../audit/canonical.ts";
import { actorOf, type Caller } from "../auth/caller.ts";
import { conflict, notFound, refuseAny, type FieldProblem } from "../lib/errors.ts";
import { checkData, nameProblem, SIGNAL_SOURCE } from "../lib/events/event-name.ts";
import { keysOfEvent, readPath } from "../lib/events/event-key.ts";
import { newIdAt, type RunId } from "../lib/ids.ts";
import type { Json, JsonObject } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Run } from "../execution/run/run.ts";
import { isFinal } from "../execution/run/states.ts";
import { partitionOf } from "../storage/partitions.ts";
import type { Query } from "../storage/database.ts";
import type { Runs } from "./handle/runs.ts";
import { readRun } from "./read/read.ts";
import { countWaiting, insertSignal, readSentHash } from "./signal-store.ts";
import { PATHS_SQL, tellSql } from "./tell-listeners.ts";
import { hintDue } from "./wake-run.ts";

type GivenSignal = {
  runId: RunId;
  name: string;
  data: Json;
  idempotencyKey: string | undefined;
  /** Where problems of the request say they are. */
  path?: string;
};
type Checked = GivenSignal & { data: JsonObject; text: string };

/**
 * Resolves when it is committed. A repeat with the same idempotency key sends nothing. Throws NOT_FOUND; BAD_USER_INPUT; CONFLICT if the run has
 * ended (`wrong_state`), if too many signals wait in it (`limit_reached`), or if the key was used with another body (`key_reused`).
 */
export async function signalRun(runs: Runs, caller: Caller, given: GivenSignal): Promise<Run> {
  const signal = checked(given);
  const { runId } = signal;
  const { organizationId } = caller;
  const run = await readRun(runs, caller, runId);
  if (!run) throw notFound("Run");
  const isDue = await runs.database.transaction((query) => send(runs, query, caller, signal), organizationId);
  if (isDue) hintDue(runs, organizationId, runId, { events: true });
  return run;
}

function checked(given: GivenSignal): Checked {
  const { path = "input" } = given;
  const problems: FieldProblem[] = [];
  const name = nameProblem(given.name);
  if (name) problems.push({ path: `${path}.name`, ...name });
  const { text, problem } = checkData(given.data, "must be an object");
  if (problem) problems.push({ path: `${path}.data`, ...problem });
  refuseAny(problems);
  return { ...given, data: given.data as JsonObject, text };
}

/** Returns whether the run is due. */
async function send(
  { database, clock }: Runs,
  query: Query,
  caller: Caller,
  { runId, name, data, text, idempotencyKey: once }: Checked,
): Promise<boolean> {
  const { organizationId } = caller;
  const month = partitionOf(database, runId);
  const [row] = await query(
    `select status from runs_${month} where organization_id = $1 and id = $2 for no key update`,
    [organizationId, runId],
  );
  const bodyHash = createHash("sha256").update(canonicalJson({ name, data })).digest("hex");
  const sent = once === undefined ? undefined : await readSentHash(query, organizationId, runId, once);
  if (sent === bodyHash) return false;
  if (sent !== undefined)
    throw conflict("key_reused", "the idempotency key was used with another body: send that body again, or a new key");
  const { status } = row!;
  if (isFinal(status)) throw conflict("wrong_state", `the run is already ${status}`);
  if ((await countWaiting(query, organizationId, runId)) >= LIMITS.signalsWaiting)
    throw conflict(
      "limit_reached",
      `${LIMITS.signalsWaiting} signals wait in this run, and none of its steps has taken them`,
    );
  const now = clock.now();
  const id = newIdAt<"event">(now);
  await insertSignal(query, {
    organizationId,
    runId,
    id,
    name,
    data: text,
    at: new Date(now),
    sentBy: actorOf(caller),
    once,
    bodyHash,
  });
  const paths = (await query(PATHS_SQL, [organizationId, name])).map((one) => readPath(one["path"]));
  if (paths.length === 0) return false;
  const keys = keysOfEvent({ type: name, source: SIGNAL_SOURCE }, data, paths);
  const told = await query(tellSql(month), [organizationId, [runId], id, keys, LIMITS.eventsHeard + 1]);
  return told.length > 0;
}
