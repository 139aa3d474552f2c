/** A run as it changes, over as many connections as it takes: after a cut it continues after the last revision seen. */
import { setTimeout as sleep } from "node:timers/promises";
import { OperatorError } from "../../lib/errors.ts";
import type { Json } from "../../lib/json/json.ts";
import { isFinal } from "../../execution/run/states.ts";
import type { RunStatus, StepStatus } from "../../storage/schema.ts";
import { ApiError, Unreachable, type Api } from "../server/api.ts";

type ShownError = { type: string; status: number; title: string | null; detail: string | null };

export type ShownUsage = { inputTokens: number; outputTokens: number; cost: number | null; currency: string | null };

export type ShownRun = {
  id: string;
  status: RunStatus;
  version: string;
  agent: { handle: string };
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  cancelledAt: string | null;
  currentStep: number | null;
  progress: number;
  output: Json;
  error: (ShownError & { stepNumber: number | null }) | null;
  /** Use of language models. Not among the fields of a subscription, which would sum it up with each event. */
  usage?: ShownUsage | null;
};
export type ShownStep = {
  number: number;
  name: string;
  kind: string;
  status: StepStatus;
  duration: number | null;
  attempts: { number: number; status: StepStatus; error: ShownError | null }[];
  output: Json;
  error: ShownError | null;
  /** The lines that a script has written. */
  log?: string | null;
  usage?: ShownUsage | null;
};
/** The text that a model has written since the last one; `offset`: the characters that stay before it. */
export type ShownDelta = { stepNumber: number; offset: number; text: string };
export type ShownEvent = {
  revision: number;
  run: ShownRun | null;
  step: ShownStep | null;
  textDelta?: ShownDelta | null;
};

const ERROR = "error { type status title detail }";
export const RUN_FIELDS = `id status version agent { handle } createdAt startedAt finishedAt cancelledAt currentStep progress output
  error { type status title detail stepNumber }`;
export const STEP_FIELDS = `number name kind status duration attempts { number status ${ERROR} } output ${ERROR} log`;
export const USAGE_FIELD = "usage { inputTokens outputTokens cachedInputTokens cost currency }";
const eventsWith = (more: string): string => `subscription ($runId: ID!, $after: Int!) {
  runEvents(runId: $runId, after: $after) { revision run { ${RUN_FIELDS} } step { ${STEP_FIELDS} } ${more} }
}`;
const EVENTS = eventsWith("");
const EVENTS_AND_TEXTS = eventsWith("textDelta { stepNumber offset text }");

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;
/** A server stopped for an upgrade is back by then. */
const GIVE_UP_MS = 120_000;

export type Watch = {
  api: Api;
  runId: string;
  /** Also what models write. */
  withTexts: boolean;
  /** When the connection was lost. */
  onLost: (reason: string) => void;
};

/** Ends after the run's final state. Throws OperatorError if the server stays away, and its refusals. */
export async function* watchRun({ api, runId, withTexts, onLost }: Watch): AsyncGenerator<ShownEvent> {
  let after = 0;
  let pauseMs = FIRST_PAUSE_MS;
  let awayMs = 0;
  const query = withTexts ? EVENTS_AND_TEXTS : EVENTS;
  for (;;) {
    let reason = "the connection was cut";
    try {
      for await (const { runEvents: event } of api.subscribe<{ runEvents: ShownEvent }>(query, { runId, after })) {
        after = event.revision;
        [pauseMs, awayMs] = [FIRST_PAUSE_MS, 0];
        yield event;
        if (event.run && isFinal(event.run.status)) return;
      }
    } catch (error) {
      if (!isPassing(error)) throw error;
      reason = error.message;
    }
    if (awayMs >= GIVE_UP_MS) throw new OperatorError(`${reason}; the run ${runId} itself goes on`);
    if (awayMs === 0) onLost(reason);
    await sleep(pauseMs);
    awayMs += pauseMs;
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  }
}

const isPassing = (error: unknown): error is OperatorError =>
  error instanceof Unreachable || (error instanceof ApiError && error.code === "UNAVAILABLE");
