/** `run: script`: JavaScript in a sandbox. It has no effect outside, so after a crash it is run again, and no attempt was lost. */
import { follow } from "../../lib/abort.ts";
import { until } from "../../lib/clock.ts";
import { ExactNumber } from "../../lib/json/exact-number.ts";
import { isObject, isScalar, parseJson, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { BodyOf, ProgramTask } from "../../definition/program.ts";
import { WorkflowError, type ErrorKind } from "../../definition/workflow-error.ts";
import { pointer, type Path } from "../../definition/text/problem.ts";
import type { ScriptProblem, ScriptReply, Scripts } from "../../scripts/scripts.ts";
import { evaluate } from "../evaluate.ts";
import type { Execution } from "../execution.ts";
import { complete, type Frame, type RunTask } from "../frame.ts";
import type { StepState } from "../journal/loaded-run.ts";
import { heldBytesOf } from "../memory.ts";

/** So much before its task's timeout a script is stopped, to keep what it has written by then. */
const BEFORE_TIMEOUT_MS = 10;
/** A script that takes longer shows as running meanwhile. */
const SHOWN_AFTER_MS = 500;

export const createRunScript =
  (scripts: Pick<Scripts, "run">): RunTask<BodyOf<"script">> =>
  async (frame, body) => {
    const { execution, step } = frame;
    step.input = await inputOf(frame, body);
    const reply = await shownAsRunning(frame, runScript(scripts, frame, body));
    if (reply.log !== null) step.state.log = reply.log;
    execution.journal.touch(step);
    if ("problem" in reply) throw errorOf(reply.problem, frame);
    await execution.turn();
    const output = outputOf(reply.output);
    if (!execution.holds(step, heldBytesOf(output))) await execution.untilRoom(step);
    return complete(frame, output);
  };

/** The values of its arguments: those of the last commit, if there was one. */
async function inputOf(frame: Frame, body: BodyOf<"script">): Promise<JsonObject> {
  const { execution, step, input, variables } = frame;
  if (step.input !== undefined) return step.input as JsonObject;
  const values = (await evaluate(execution, body.arguments, input, variables, step)) as JsonObject;
  const room = execution.holdRow(step, values);
  if (room) await room;
  return values;
}

async function runScript(
  scripts: Pick<Scripts, "run">,
  frame: Frame,
  { code, names }: BodyOf<"script">,
): Promise<ScriptReply> {
  const { execution, step, scope } = frame;
  const { signal } = scope;
  const given = step.input as JsonObject;
  try {
    return await scripts.run({
      organizationId: execution.journal.head.organizationId,
      code,
      names,
      values: async () => {
        await execution.turn();
        return writtenValues(given, names);
      },
      now: execution.now(),
      limitMs: limitOf(frame),
      signal,
    });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
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

function roundedIn(value: Json, path: Path = []): { path: Path; number: ExactNumber } | undefined {
  if (value instanceof ExactNumber) return value.text === "-0" ? undefined : { path, number: value };
  if (Array.isArray(value)) return firstOf(value.entries(), path);
  return isObject(value) ? firstOf(Object.entries(value), path) : undefined;
}

function firstOf(entries: Iterable<[string | number, Json]>, path: Path): ReturnType<typeof roundedIn> {
  for (const [key, child] of entries) {
    const found = isScalar(child) && !(child instanceof ExactNumber) ? undefined : roundedIn(child, [...path, key]);
    if (found) return found;
  }
  return undefined;
}

function outputOf(text: string): Json {
  try {
    return parseJson(text, "the script's output");
  } catch (error) {
    throw WorkflowError.of("script", (error as Error).message);
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
