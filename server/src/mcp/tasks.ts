/** The extension `io.modelcontextprotocol/tasks`: a run that a client goes on with. The task's id is the run's. */
import type { Run } from "../execution/run/run.ts";
import { isFinal } from "../execution/run/states.ts";
import { notFound } from "../lib/errors.ts";
import { decodeId, encodeId } from "../lib/ids.ts";
import { isObject, type JsonObject } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import { cancelRun } from "../runs/cancel-run.ts";
import { readRun } from "../runs/read/read.ts";
import { hasScope, needScope, type Call, type Mcp } from "./call.ts";
import { ProtocolError, TASKS } from "./protocol.ts";
import { answerQuestions, openQuestions } from "./questions.ts";
import { runResult } from "./run-result.ts";

/** Whether the client can go on with a run as a task: it knows tasks, and may read runs. */
export const mayHaveTask = (call: Call): boolean => call.capabilities.hasTasks && hasScope(call, "runs:read");

/** Instead of the call's result. */
export const newTask = async (mcp: Mcp, call: Call, run: Run): Promise<object> => {
  const { status } = await stateOf(mcp, call, run);
  return { resultType: "task", ...taskOf(run, status) };
};

export async function getTask(mcp: Mcp, call: Call, params: JsonObject): Promise<object> {
  const run = await taskRun(mcp, call, params);
  const { status, more } = await stateOf(mcp, call, run);
  return { ...taskOf(run, status), ...more };
}

export async function updateTask(mcp: Mcp, call: Call, params: JsonObject): Promise<object> {
  needScope(call, "approvals:decide");
  const run = await taskRun(mcp, call, params);
  const { inputResponses } = params;
  if (!isObject(inputResponses)) throw new ProtocolError("invalidParams", "inputResponses must be an object", 200);
  await answerQuestions(mcp, call, run, inputResponses);
  return {};
}

export async function cancelTask(mcp: Mcp, call: Call, params: JsonObject): Promise<object> {
  needScope(call, "runs:cancel");
  const run = await taskRun(mcp, call, params);
  // Its end may come first: the client learns which.
  if (!isFinal(run.status)) await cancelRun(mcp.runs, call.caller, run.id).catch(ignoreEnded(mcp, call, run));
  return {};
}

const ignoreEnded = (mcp: Mcp, call: Call, run: Run) => async (error: unknown) => {
  const now = await readRun(mcp.runs, call.caller, run.id);
  if (!now || !isFinal(now.status)) throw error;
};

/** Throws what a client without tasks gets, FORBIDDEN, or NOT_FOUND in the same words for what is not reached. */
async function taskRun({ runs }: Mcp, call: Call, { taskId }: JsonObject): Promise<Run> {
  if (!call.capabilities.hasTasks) throw lacksTasks();
  needScope(call, "runs:read");
  const id = typeof taskId === "string" ? decodeId("run", taskId) : undefined;
  const run = id && (await readRun(runs, call.caller, id));
  if (!run) throw notFound("Task");
  return run;
}

const lacksTasks = (): ProtocolError =>
  new ProtocolError("missingCapability", `this needs the client capability ${TASKS}`, 400, {
    requiredCapabilities: { extensions: { [TASKS]: {} } },
  });

type TaskStatus = "working" | "input_required" | "completed" | "cancelled";

async function stateOf(mcp: Mcp, call: Call, run: Run): Promise<{ status: TaskStatus; more?: object }> {
  if (run.status === "cancelled") return { status: "cancelled" };
  // A run that failed is a result: `failed` is for errors of the protocol.
  if (isFinal(run.status))
    return {
      status: "completed",
      more: { result: { resultType: "complete", ...(await runResult(mcp, call, run, { failsWithRun: true })) } },
    };
  const inputRequests = await openQuestions(mcp, call, run);
  if (Object.keys(inputRequests).length === 0) return { status: "working" };
  return { status: "input_required", more: { inputRequests } };
}

const MESSAGES: Partial<Record<Run["status"], string>> = {
  pending: "The run waits for its turn.",
  paused: "The run waits for a person to decide an approval.",
};

function taskOf(run: Run, status: TaskStatus): object {
  const { createdAt, startedAt, finishedAt, progress } = run;
  const statusMessage = MESSAGES[run.status] ?? `The run is ${run.status}, ${Math.floor(progress)} % done.`;
  return {
    taskId: encodeId("run", run.id),
    status,
    statusMessage,
    createdAt: createdAt.toISOString(),
    lastUpdatedAt: (finishedAt ?? startedAt ?? createdAt).toISOString(),
    // Runs are kept.
    ttlMs: null,
    ...(!isFinal(run.status) && { pollIntervalMs: LIMITS.mcpPollMs }),
  };
}
