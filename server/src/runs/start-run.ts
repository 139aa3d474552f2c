/** Accepts a run: returns only after its commit. */
import { actorOf, type Caller } from "../auth/caller.ts";
import { runOf } from "../execution/journal/loaded-run.ts";
import type { Run, Step } from "../execution/run/run.ts";
import type { AgentId, RunDraftId } from "../lib/ids.ts";
import type { Ending } from "../lib/ending.ts";
import type { Json } from "../lib/json/json.ts";
import { startOnce, type IdempotencyKey } from "./idempotency-key.ts";
import { takeDraft } from "./run-draft-texts.ts";
import { insertRun, newHead } from "./insert-run.ts";
import { prepareRun } from "./prepare-run.ts";
import type { Runs } from "./handle/runs.ts";
import { untilSettled } from "./watch/wait-for-run.ts";

type StartRequest = {
  agentId: AgentId;
  input: Json;
  /** Where the input is in what was asked. */
  path?: string;
  /** Good for 24 h per organization and agent: the same key with the same body is the same run. */
  idempotencyKey?: string | undefined;
  /** The request that the key stands for, if not this one itself. */
  body?: Json;
  version?: string | undefined;
  /** The draft that a person reviewed. */
  runDraftId?: RunDraftId | undefined;
  /** When to begin; a time in the past means now. */
  runAt?: Date | undefined;
  /** Returns when the run ends or pauses, or after this long, with the steps. At most 30 s. */
  waitSeconds?: number | undefined;
  /** When it ends, nobody waits any longer. */
  ending?: Ending | undefined;
};

type Started = { run: Run; steps?: Step[] | undefined };

export async function startRun(runs: Runs, caller: Caller, request: StartRequest): Promise<Started> {
  const key = keyOf(caller, request);
  if (!key) return startNew(runs, caller, request, key);
  return startOnce(runs, key, {
    start: () => startNew(runs, caller, request, key),
    known: async (run) => {
      if (request.waitSeconds === undefined) return { run };
      using settled = untilSettled(runs, run, request.waitSeconds, request.ending);
      return await settled.result();
    },
  });
}

function keyOf({ organizationId }: Caller, request: StartRequest): IdempotencyKey | undefined {
  const { agentId, idempotencyKey: text, version, input, runAt, runDraftId } = request;
  if (text === undefined) return undefined;
  const body = request.body ?? [version ?? null, input, runAt?.toJSON() ?? null, ...(runDraftId ? [runDraftId] : [])];
  return { organizationId, agentId, text, body };
}

async function startNew(
  runs: Runs,
  caller: Caller,
  request: StartRequest,
  key: IdempotencyKey | undefined,
): Promise<Started> {
  const { organizationId } = caller;
  const { agentId, runDraftId } = request;
  const prepared = await prepareRun(runs, caller, request);
  const draft = runDraftId && (await takeDraft(runs, organizationId, agentId, runDraftId));
  const head = newHead(runs, prepared, {
    organizationId,
    startedBy: actorOf(caller),
    runAt: request.runAt && request.runAt.getTime() > runs.clock.now() ? request.runAt.getTime() : null,
  });
  const waits = request.waitSeconds !== undefined;
  using settled = waits ? untilSettled(runs, head, request.waitSeconds!, request.ending) : undefined;
  const inserted = await insertRun(runs, head, { ...prepared, key, draft, waits });
  return settled ? await settled.result() : { run: runOf(inserted) };
}
