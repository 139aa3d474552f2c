/** `run: script`: JavaScript in a sandbox. It has no effect outside, so after a crash it is run again, and no attempt was lost. */
import { inTurns } from "../../fairness/slices.ts";
import { follow } from "../../lib/abort.ts";
import { until } from "../../lib/clock.ts";
import { ExactNumber } from "../../lib/json/exact-number.ts";
import { isObject, isScalar, parseJson, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { BodyOf, ProgramTask } from "../../definition/program.ts";
import { WorkflowError, type ErrorKind } from "../../definition/workflow-error.ts";
import { pointer, valueAt, type Path } from "../../definition/text/problem.ts";
import type { ScriptProblem, ScriptReply, Scripts } from "../../scripts/scripts.ts";
import { authenticationOf } from "../calls/authentication.ts";
import { oneSearchAtATime, type Calling } from "../calls/calling.ts";
import { Credentials } from "../calls/http-response.ts";
import { shownArguments, withFilled, withoutReason } from "../calls/secret-arguments.ts";
import type { Execution } from "../execution.ts";
import { complete, type Frame, type RunTask } from "../frame.ts";
import type { StepState } from "../journal/loaded-run.ts";
import { heldBytesOf } from "../memory.ts";

/** A script is stopped this long before its task's timeout, to keep what it has written by then. */
const BEFORE_TIMEOUT_MS = 10;
/** A script that takes longer shows as running meanwhile. */
const SHOWN_AFTER_MS = 500;

export const createRunScript =
  (scripts: Pick<Scripts, "run">, calling: Pick<Calling, "readSecrets" | "concealing">): RunTask<BodyOf<"script">> =>
  async (frame, body) => {
    const { execution, step } = frame;
    step.input = await inputOf(frame, body);
    const { log, output } = await shownAsRunning(frame, attempt(scripts, calling, frame, body));
    if (log !== null) step.state.log = log;
    execution.journal.touch(step);
    if (output instanceof WorkflowError) throw output;
    if (!execution.holds(step, heldBytesOf(output))) await execution.untilRoom(step);
    return complete(frame, output);
  };

/** The values of its arguments as they are kept and shown: those of the last commit, if there was one. */
async function inputOf(frame: Frame, body: BodyOf<"script">): Promise<JsonObject> {
  const { execution, step } = frame;
  if (step.input !== undefined) return step.input as JsonObject;
  const values = (await shownArguments(frame, body)) as JsonObject;
  const room = execution.holdRow(step, values);
  if (room) await room;
  return values;
}

type Ended = { log: string | null; output: Json | WorkflowError };

/** With the present values of the secrets that its arguments name, of which nothing comes back. */
async function attempt(
  scripts: Pick<Scripts, "run">,
  { readSecrets, concealing }: Pick<Calling, "readSecrets" | "concealing">,
  frame: Frame,
  body: BodyOf<"script">,
): Promise<Ended> {
  const { execution, scope, step, task } = frame;
  const { secretive } = body;
  const given = step.input as JsonObject;
  if (!secretive) return endedOf(await runScript(scripts, frame, body, { given }), frame);
  const place = `${task.reference}/run/script/arguments`;
  const { secrets } = await authenticationOf(frame, undefined, readSecrets);
  const filling = { place, secrets, signal: scope.signal, so: SO, kept: (path: Path) => valueAt(given, path)! };
  return withFilled(frame, secretive, filling, async ({ values, made }) => {
    const credentials = new Credentials(undefined, secrets, made);
    const searching = oneSearchAtATime(concealing, execution.journal.head.organizationId, credentials);
    const turn = (): Promise<void> | undefined => execution.turn();
    const hide = (text: string, end: number): Promise<string> =>
      searching(() => inTurns(credentials.beginning(text, end), turn));
    const reply = await runScript(scripts, frame, body, { given: values as JsonObject, place, hide });
    const { log, output } = await endedOf(reply, frame);
    const { concealer } = credentials;
    if (output instanceof WorkflowError || !concealer) return { log, output };
    return { log, output: await searching(() => inTurns(concealer.json(output), turn)) };
  });
}

const SO = "so the script did not run";

/** `place`: the JSON pointer to the arguments, if they have secrets. */
type Given = { given: JsonObject; place?: string; hide?: (text: string, end: number) => Promise<string> };

async function runScript(
  scripts: Pick<Scripts, "run">,
  frame: Frame,
  { code, names }: BodyOf<"script">,
  { given, place, hide }: Given,
): Promise<ScriptReply> {
  const { execution, scope } = frame;
  const { signal } = scope;
  const write = (): string => writtenValues(given, names);
  try {
    return await scripts.run({
      organizationId: execution.journal.head.organizationId,
      code,
      names,
      values: async () => {
        await execution.turn();
        return place === undefined ? write() : withoutReason(place, write, SO);
      },
      now: execution.now(),
      limitMs: limitOf(frame),
      signal,
      ...(hide && { hide }),
    });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

async function endedOf(reply: ScriptReply, frame: Frame): Promise<Ended> {
  const { log } = reply;
  if ("problem" in reply) return { log, output: errorOf(reply.problem, frame) };
  await frame.execution.turn();
  return { log, output: outputOf(reply.output) };
}

/** The time that it may take: its task's own timeout, if there is one. */
export function limitOf({
  execution,
  task,
  step,
}: {
  execution: Pick<Execution, "now">;
  task: Pick<ProgramTask, "timeout">;
  step: { state: Pick<StepState, "deadline"> };
}): number {
  if (!task.timeout) return LIMITS.scriptMs;
  const leftMs = step.state.deadline! - execution.now() - BEFORE_TIMEOUT_MS;
  return Math.max(1, Math.min(leftMs, LIMITS.scriptMaxMs));
}

/** Commits the step as running if `work` takes long. */
async function shownAsRunning<Result>({ execution, scope }: Frame, work: Promise<Result>): Promise<Result> {
  using over = follow(scope.signal);
  const { clock } = execution.shared;
  const shown = until(clock, clock.now() + SHOWN_AFTER_MS, over.signal).then(
    () => execution.commit(),
    () => {},
  );
  const [result] = await Promise.all([work.finally(() => over.abort(undefined)), shown]);
  return result;
}

/** The values of the names as JSON. A number that JavaScript would round is refused. */
function writtenValues(given: JsonObject, names: readonly string[]): string {
  const text = JSON.stringify(names.map((name) => given[name] ?? null));
  // Only such a text can have one.
  const rounded = /[\d.]{16}|[eE]/.test(text) ? roundedIn(given) : undefined;
  if (rounded === undefined) return text;
  const detail = `the argument at ${pointer(rounded.path)} is ${rounded.number.text}, a number with more digits than JavaScript keeps; pass it as text, such as \${ .id | tostring }`;
  throw WorkflowError.of("expression", detail);
}

function roundedIn(value: Json): { path: Path; number: ExactNumber } | undefined {
  if (value instanceof ExactNumber) return value.text === "-0" ? undefined : { path: [], number: value };
  if (Array.isArray(value)) return firstOf(value.entries());
  return isObject(value) ? firstOf(Object.entries(value)) : undefined;
}

function firstOf(entries: Iterable<[string | number, Json]>): ReturnType<typeof roundedIn> {
  for (const [key, child] of entries) {
    const found = isScalar(child) && !(child instanceof ExactNumber) ? undefined : roundedIn(child);
    if (found) return { ...found, path: [key, ...found.path] };
  }
  return undefined;
}

function outputOf(text: string): Json | WorkflowError {
  try {
    return parseJson(text, "the script's output");
  } catch (error) {
    return WorkflowError.of("script", (error as Error).message);
  }
}

const KINDS: Record<ScriptProblem["is"], ErrorKind> = {
  threw: "script",
  syntax: "script",
  pending: "script",
  time: "timeout",
  memory: "limit",
  output: "limit",
};

function errorOf({ is, message, line, column }: ScriptProblem, { task }: Frame): WorkflowError {
  const where = line === undefined ? "" : ` (line ${line}, column ${column})`;
  const hint = is === "time" && !task.timeout ? MORE_TIME : "";
  return WorkflowError.of(KINDS[is], `${message}${where}${hint}`);
}

const MORE_TIME = `; give the task a timeout, such as timeout: {after: PT2S}, up to PT${LIMITS.scriptMaxMs / 1_000}S`;
