/** A run and its steps as lines for people. */
import type { Json } from "../../lib/json/json.ts";
import { isFinal } from "../../execution/run/states.ts";
import type { RunStatus, StepStatus } from "../../storage/schema.ts";
import { cutText, plainJson, plainText, prettyJson, type Paint, type Terminal } from "../line/terminal.ts";
import type { ShownEvent, ShownRun, ShownStep, ShownUsage } from "./watch-run.ts";

const NAME_WIDTH = 18;
const KIND_WIDTH = 9;
const STATUS_WIDTH = 10;
/** Two places, and of less than a hundredth two digits. */
const costs = new Intl.NumberFormat("en", {
  maximumFractionDigits: 2,
  maximumSignificantDigits: 2,
  roundingPriority: "morePrecision",
});
/** Where failed tries are news; for a failed step, shows the last one's reason. */
const COUNTED: readonly StepStatus[] = ["running", "completed"];

function paintOf(terminal: Terminal, status: RunStatus | StepStatus): Paint {
  if (status === "completed") return terminal.green;
  if (status === "failed" || status === "cancelled") return terminal.red;
  return status === "paused" ? terminal.yellow : terminal.dim;
}

export const showStatus = (terminal: Terminal, status: RunStatus | StepStatus): string =>
  paintOf(terminal, status)(status);

/** `  2  ask                approval   completed    2,103 ms`. */
export function showStep(terminal: Terminal, step: ShownStep): string {
  const status = paintOf(terminal, step.status)(step.status.padEnd(STATUS_WIDTH));
  const took = step.duration === null || step.status === "paused" ? "" : `${step.duration.toLocaleString("en")} ms`;
  const failures = failuresOf(step);
  const tries =
    failures === 0 || !COUNTED.includes(step.status)
      ? ""
      : `  (${failures} failed ${failures === 1 ? "try" : "tries"})`;
  const number = String(step.number).padStart(3);
  const kind = step.kind.padEnd(KIND_WIDTH);
  const used = step.usage ? `(${usageText(step.usage)})` : "";
  const name = plainText(step.name);
  const leftBeside = (end: string): number => terminal.columns - `${number}   ${kind}  ${end}`.length - STATUS_WIDTH;
  let end = `${took.padStart(9)}${tries}${used && `  ${used}`}`;
  // The tokens have a line of their own if the name would be cut for them.
  const isBelow = used !== "" && leftBeside(end) < Math.min(NAME_WIDTH, name.length);
  if (isBelow) end = `${took.padStart(9)}${tries}`;
  const left = leftBeside(end);
  const columns = `${number}  ${cutText(name, left).padEnd(Math.min(NAME_WIDTH, left))} ${kind} ${status} ${end}`;
  const below = isBelow ? `\n     ${used}` : "";
  const why = step.error ? `\n     ${terminal.red(plainText(reasonOf(step.error)))}` : "";
  return columns.trimEnd() + below + logLines(terminal, step) + why;
}

/** A script's lines that are shown. */
const LOG_LINES = 20;

function logLines(terminal: Terminal, { log }: ShownStep): string {
  if (!log) return "";
  const lines = log.split("\n");
  const shown = lines.slice(0, LOG_LINES).map((line) => cutText(plainText(line), terminal.columns - 7));
  if (lines.length > LOG_LINES) shown.push(`… ${lines.length - LOG_LINES} more lines`);
  return shown.map((line) => `\n     ${terminal.dim(`| ${line}`)}`).join("");
}

const failuresOf = ({ attempts }: ShownStep): number => attempts.filter(({ error }) => error !== null).length;

/** How the run ended, and its output or error; for an open run, its current state. */
export function showEnd(terminal: Terminal, run: ShownRun): string {
  const took = run.finishedAt ? ` in ${durationOf(Date.parse(run.finishedAt) - Date.parse(run.createdAt))}` : "";
  const used = run.usage ? `, ${usageText(run.usage)}` : "";
  const status = `${showStatus(terminal, run.status)}${took}${used}`;
  if (run.error) return `${status}: ${plainText(reasonOf(run.error))}`;
  return run.status === "completed" ? `${status}\n${prettyJson(run.output)}` : status;
}

/** `340 tokens, 0.00038 EUR`. */
function usageText({ inputTokens, outputTokens, cost, currency }: ShownUsage): string {
  const tokens = `${(inputTokens + outputTokens).toLocaleString("en")} tokens`;
  return cost === null ? tokens : `${tokens}, ${costText(cost, currency)}`;
}

/** `0.00038 EUR`. */
export const costText = (cost: number, currency: string | null): string => `${costs.format(cost)} ${currency}`;

/** The news in each event: a step's new status or failed try, and the run's end. */
export function createStory(terminal: Terminal): (event: ShownEvent) => string[] {
  const known = new Map<number, string>();
  return ({ run, step }) => {
    const lines: string[] = [];
    if (step) {
      const state = `${step.status} ${failuresOf(step)}`;
      if (known.get(step.number) !== state && step.status !== "pending") lines.push(showStep(terminal, step));
      known.set(step.number, state);
    }
    if (run && isFinal(run.status)) lines.push(showEnd(terminal, run));
    return lines;
  };
}

type Reason = { type: string; title: string | null; detail: string | null };

const reasonOf = ({ type, title, detail }: Reason): string => detail ?? title ?? type;

/** `340 ms`, `2.1 s`, `3 min 20 s`. */
export function durationOf(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

/** Values that steps pass on can be long: the start is enough to recognise them. */
export function shortJson(value: Json, most = 100): string {
  return cutText(plainJson(value), most);
}
