/** Agents as tools: an agent's form is the tool's, and a call starts a run. */
import type { Agent } from "../agents/agent.ts";
import { findAgent, findAgentByHash } from "../agents/find-agent.ts";
import { published } from "../agents/published.ts";
import type { Run } from "../execution/run/run.ts";
import { isFinal } from "../execution/run/states.ts";
import { Refusal } from "../lib/errors.ts";
import { decodeId, encodeId } from "../lib/ids.ts";
import { isObject, type Json, type JsonObject } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Within } from "../lib/reach.ts";
import { readRun } from "../runs/read/read.ts";
import { startRun } from "../runs/start-run.ts";
import { hasScope, needScope, type Call, type Mcp } from "./call.ts";
import { keyOfCall } from "./call-key.ts";
import { ProtocolError, type Tool } from "./protocol.ts";
import { answerQuestions, isAllDecided, isPutOff, openQuestions } from "./questions.ts";
import { RUN_SCHEMA, runResult, unshownResult } from "./run-result.ts";
import { mayHaveTask, newTask } from "./tasks.ts";
import { agentNamedBy, toolNameOf } from "./tool-name.ts";
import { untilResumed, waitEnd, waitForRun } from "./wait.ts";

/** `read`: the characters of its definition. Undefined if it takes no runs meanwhile. */
export async function agentTool(
  { agents }: Mcp,
  within: Within,
  { id }: Agent,
  project: string,
): Promise<{ tool: Tool; read: number } | undefined> {
  const version = await published(agents, within, id);
  if (!version) return undefined;
  const { agent, inputSchema, source } = version;
  const tool = {
    name: toolNameOf(project, agent.handle),
    title: agent.name,
    // Models choose by it, and some clients take no tool without one.
    description: agent.description ?? `Starts a run of ${agent.name}.`,
    inputSchema: { type: "object", ...inputSchema },
    outputSchema: RUN_SCHEMA,
  };
  return { tool, read: source.length };
}

/** Whatever its status: what it refuses then says why. */
export async function findAgentTool({ agents }: Mcp, within: Within, name: string): Promise<Agent | undefined> {
  const named = agentNamedBy(name);
  if (!named) return undefined;
  if ("hash" in named) return findAgentByHash(agents, within, named.beginning, named.hash);
  const { project, handle } = named;
  return toolNameOf(project, handle) === name ? findAgent(agents, within, project, handle) : undefined;
}

/** Starts a run, or goes on with one that asked its client something. The caller may start runs. */
export async function callAgent(mcp: Mcp, call: Call, agent: Agent, params: JsonObject): Promise<object> {
  // Before the run starts: a client that is refused calls again.
  using _place = call.beginWait();
  const run =
    params["requestState"] === undefined ? await begin(mcp, call, agent, params) : await goOn(mcp, call, agent, params);
  call.ending.throwIfOver();
  try {
    // Asked at once again, a person who puts a decision off would be asked for ever.
    if (isPutOff(params["inputResponses"])) return await runResult(mcp, call, run, { failsWithRun: true });
    return await answerOf(mcp, call, run);
  } catch (error) {
    if (error instanceof Refusal && !call.ending.isOver) return unshownResult(run, error);
    throw error;
  }
}

/** Starts a run and waits for it. */
async function begin(mcp: Mcp, call: Call, agent: Agent, params: JsonObject): Promise<Run> {
  const { caller, ending, tellProgress } = call;
  const key = keyOfCall(call, params);
  const end = waitEnd(mcp, LIMITS.waitSeconds);
  const { run } = await startRun(mcp.runs, caller, {
    agentId: agent.id,
    input: params["arguments"] ?? {},
    path: "arguments",
    idempotencyKey: key,
    // Progress is told of a run that has started.
    ...(!tellProgress && { waitSeconds: LIMITS.waitSeconds, ending }),
  });
  return tellProgress ? waitForRun(mcp, call, run, end) : run;
}

/**
 * `requestState` is the run's id. It needs no seal: it leads to no run and no decision that the caller could not name in another
 * call.
 */
async function goOn(mcp: Mcp, call: Call, agent: Agent, { requestState, inputResponses }: JsonObject): Promise<Run> {
  needScope(call, "runs:read");
  needScope(call, "approvals:decide");
  const end = waitEnd(mcp, LIMITS.waitSeconds);
  const run = await stateRun(mcp, call, agent, requestState!);
  if (isObject(inputResponses)) await answerQuestions(mcp, call, run, inputResponses);
  const now = (await readRun(mcp.runs, call.caller, run.id)) ?? run;
  if (isPutOff(inputResponses)) return now;
  const resumes = now.status === "paused" && (await isAllDecided(mcp, call, run));
  return waitForRun(mcp, call, resumes ? await untilResumed(mcp, call, now, end) : now, end);
}

async function stateRun({ runs }: Mcp, { caller }: Call, agent: Agent, state: Json): Promise<Run> {
  const id = typeof state === "string" ? decodeId("run", state) : undefined;
  const run = id && (await readRun(runs, caller, id));
  if (run?.agentId !== agent.id)
    throw new ProtocolError("invalidParams", "requestState names no run of this tool", 200);
  return run;
}

/** A result, a task, or what a person is asked. */
async function answerOf(mcp: Mcp, call: Call, run: Run): Promise<object> {
  const isOpen = !isFinal(run.status);
  if (isOpen && mayHaveTask(call)) return newTask(mcp, call, run);
  // Who goes on shows a run by its id, and decides.
  if (isOpen && call.isStateless && hasScope(call, "runs:read")) {
    const inputRequests = await openQuestions(mcp, call, run);
    if (Object.keys(inputRequests).length > 0)
      return { resultType: "input_required", inputRequests, requestState: encodeId("run", run.id) };
  }
  return runResult(mcp, call, run, { failsWithRun: true });
}
