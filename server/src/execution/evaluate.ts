/** A task's expressions, the variables that they see, and the checks of their results. */
import { ExpressionError } from "../expressions/parsing/expression-error.ts";
import type { Variables } from "../expressions/expressions.ts";
import type { Template } from "../expressions/template.ts";
import { weigh } from "../lib/json/weigh.ts";
import type { ProgramTask } from "../definition/program.ts";
import { WorkflowError } from "../definition/workflow-error.ts";
import { durationMs } from "../definition/rules/durations.ts";
import { heldBytes } from "../lib/json/held-bytes.ts";
import { ExactNumber } from "../lib/json/exact-number.ts";
import { isScalar, type Json } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import { LONGEST_MS } from "./back-off.ts";
import type { Execution } from "./execution.ts";
import type { JournalStep } from "./journal/loaded-run.ts";
import type { Scope } from "./scope.ts";
import { moment, runtimeOf, type MakeVariables } from "./variables.ts";

/** `$context`, `$workflow`, `$runtime` and what the scope adds. */
export const runVariables =
  (execution: Execution, scope: Pick<Scope, "variables">): MakeVariables =>
  (used) => {
    const all: Variables = { ...scope.variables, context: execution.journal.head.state.context ?? null };
    if (used.has("workflow") && !Object.hasOwn(all, "workflow")) all["workflow"] = execution.workflow;
    if (used.has("runtime")) all["runtime"] = runtimeOf(execution.now());
    return all;
  };

/** The same with `$task`. */
export function taskVariables(execution: Execution, task: ProgramTask, step: JournalStep, scope: Scope): MakeVariables {
  const ofRun = runVariables(execution, scope);
  return (used) => {
    const all = ofRun(used);
    if (used.has("task")) {
      all["task"] = {
        name: task.name,
        reference: task.reference,
        startedAt: moment(step.startedAt),
        attempt: Math.max(step.attempt, scope.attempt),
      };
    }
    return all;
  };
}

const NO_VARIABLES: Variables = {};

/**
 * Evaluates; a template without expressions costs nothing. `step`: whose result it is, if that can be large. It is made
 * when there is memory, and counted.
 */
export function evaluate(
  execution: Execution,
  template: Template,
  data: Json,
  variables: MakeVariables,
  step?: JournalStep,
): Json | Promise<Json> {
  if (template.isLiteral) return template.source;
  return step
    ? evaluateCounted(execution, template, data, variables, step)
    : evaluateNow(execution, template, data, variables);
}

function evaluateCounted(
  execution: Execution,
  template: Template,
  data: Json,
  variables: MakeVariables,
  step: JournalStep,
): Json | Promise<Json> {
  if (!execution.hasRoom(step)) return evaluateLater(execution, template, data, variables, step);
  let made = 0;
  const value = evaluateNow(execution, template, data, variables, (heldBytes) => {
    made += heldBytes;
    execution.journal.carry(step, heldBytes);
  });
  if (!(value instanceof Promise)) return value;
  return value.then((late) => {
    // If others' results came first, it is released and made again.
    return execution.hasRoom(step) ? late : evaluateLater(execution, template, data, variables, step, made);
  });
}

async function evaluateLater(
  execution: Execution,
  template: Template,
  data: Json,
  variables: MakeVariables,
  step: JournalStep,
  dropped = 0,
): Promise<Json> {
  await execution.untilRoom(step);
  execution.journal.carry(step, -dropped);
  return evaluateCounted(execution, template, data, variables, step);
}

function evaluateNow(
  { shared, journal }: Execution,
  template: Template,
  data: Json,
  variables: MakeVariables,
  made?: (heldBytes: number) => void,
): Json | Promise<Json> {
  const used = template.variables.size === 0 ? NO_VARIABLES : variables(template.variables);
  try {
    const value = shared.expressions.evaluate(template, data, used, journal.head.organizationId, made);
    return value instanceof Promise ? value.catch(dataFailed) : value;
  } catch (error) {
    return dataFailed(error);
  }
}

/** A text longer than possible, or a value nested too deeply: the data's fault. */
function dataFailed(error: unknown): never {
  throw error instanceof RangeError ? WorkflowError.of("expression", error.message) : error;
}

/** The errors that a `catch` may see. Anything else (a lost fence, an unload, a bug) does not concern the workflow. */
export function asWorkflowError(reason: unknown): WorkflowError | undefined {
  if (reason instanceof WorkflowError) return reason;
  if (reason instanceof ExpressionError) return WorkflowError.of("expression", reason.message);
  return undefined;
}

export function asDuration(value: Json): number {
  const ms = durationMs(value);
  if (ms === undefined) throw WorkflowError.of("expression", `${JSON.stringify(value)} is not a duration`);
  return Math.min(ms, LONGEST_MS);
}

/** Nested tasks may each check the same large value, and one check may take 50 ms: other organizations get their turn before each. */
export async function checkSchema(
  execution: Execution,
  check: ((value: Json) => string | undefined) | undefined,
  value: Json,
  what: string,
): Promise<void> {
  if (!check) return;
  await execution.turn();
  const problem = check(value);
  if (problem) throw WorkflowError.of("validation", `${what} does not fit its schema: ${problem}`);
}

/** About how many bytes a result has as JSON and in memory; also its text, if that was made. */
type Measure = { bytes: number; heldBytes: number; text?: string };

/** Throws if a result is too large to be kept. */
export function measure(value: Json): Measure {
  // Most results are small: a number, or a text that stays below the limit even if every character is escaped, needs no measuring.
  if (isScalar(value) && !(value instanceof ExactNumber)) {
    if (typeof value !== "string") return { bytes: 8, heldBytes: 8 };
    const bytes = value.length;
    if (bytes < LIMITS.outputBytes / 6) return { bytes, heldBytes: 3 * bytes };
  }
  // Results of many items may share parts, or be a thousand times too large: weighed before they are written out.
  const text = weigh(value, LIMITS.outputBytes, Infinity) ? undefined : JSON.stringify(value);
  if (text === undefined || text.length > LIMITS.outputBytes) {
    throw WorkflowError.of("runtime", `an output has at most ${LIMITS.outputBytes} bytes`);
  }
  return { bytes: text.length, heldBytes: heldBytes(text), text };
}

type Output = { output: Json; context?: Json };

/** `output.as`, then `export.as`: the task's output, and the new `$context` if there is one. */
export function outputOf(
  execution: Execution,
  task: ProgramTask,
  raw: Json,
  variables: MakeVariables,
  step: JournalStep,
): Output | Promise<Output> {
  const isRaw = !task.outputAs && !task.outputCheck && !task.exportAs;
  return isRaw ? { output: raw } : shapeOutput(execution, task, raw, variables, step);
}

async function shapeOutput(
  execution: Execution,
  task: ProgramTask,
  raw: Json,
  variables: MakeVariables,
  step: JournalStep,
): Promise<Output> {
  const output = task.outputAs ? await evaluate(execution, task.outputAs, raw, variables, step) : raw;
  await checkSchema(execution, task.outputCheck, output, "output");
  if (!task.exportAs) return { output };
  const context = await evaluate(execution, task.exportAs, output, (used) => ({ ...variables(used), output }), step);
  await checkSchema(execution, task.exportCheck, context, "export");
  measure(context);
  return { output, context };
}

/** The items of a loop: a list; null has none. */
export function asItems(value: Json): Json[] {
  if (Array.isArray(value)) return value;
  if (value === null) return [];
  throw WorkflowError.of("expression", `\`in\` must yield a list, but yields ${JSON.stringify(value).slice(0, 100)}`);
}
