/** What all starts have in common: the agent's version, the checked input, the first state. */
import { takesRuns } from "../agents/agent.ts";
import { published, readAgent, type Published } from "../agents/published.ts";
import { versionNotFound } from "../agents/versions.ts";
import { checkInput, misfitOf } from "../definition/check-input.ts";
import { badInput, conflict, notFound, Refusal } from "../lib/errors.ts";
import type { AgentId } from "../lib/ids.ts";
import type { Json, JsonObject } from "../lib/json.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Within } from "../lib/reach.ts";
import type { Runs } from "./runs.ts";

export type PreparedRun = { version: Published; input: JsonObject; inputText: string };

/** Throws UNAVAILABLE, NOT_FOUND, CONFLICT (the agent takes no runs) or BAD_USER_INPUT with the fields. */
export async function prepareRun(
  runs: Runs,
  within: Within,
  request: { agentId: AgentId; version?: string; input: Json },
): Promise<PreparedRun> {
  if (runs.executions.draining) throw new Refusal("UNAVAILABLE", "the server is shutting down", { retryAfter: 5 });
  if (!runs.hasSpace()) {
    throw new Refusal("UNAVAILABLE", "the server's disk is nearly full: no new runs for now", { retryAfter: 60 });
  }
  const version = await published(runs.agents, within, request.agentId, request.version);
  if (!version) throw await notPublished(runs, within, request);
  if (!takesRuns(version.agent))
    throw conflict(
      "wrong_state",
      `the agent is ${version.agent.status}: it takes no new runs until setAgentStatus makes it active`,
    );
  return { version, ...checkStartInput(version, request.input) };
}

/** The input with the form's defaults written in, and its JSON text. */
export function checkStartInput(
  version: Pick<Published, "inputSchema">,
  input: Json,
): { input: JsonObject; inputText: string } {
  const checked = checkInput(version.inputSchema, input, "input.input");
  if (checked.problems) throw misfitOf("the input does not fit the agent's form", checked.problems, "input.input");
  const inputText = JSON.stringify(checked.value);
  if (inputText.length > LIMITS.inputBytes / 3 && Buffer.byteLength(inputText) > LIMITS.inputBytes) throw tooLarge();
  return { input: checked.value, inputText };
}

function tooLarge(): Refusal {
  const message = `has at most ${LIMITS.inputBytes} bytes`;
  return badInput("invalid_input", `the input ${message}`, [{ path: "input.input", code: "too_large", message }]);
}

async function notPublished(
  runs: Runs,
  within: Within,
  request: { agentId: AgentId; version?: string },
): Promise<Refusal> {
  const agent = await readAgent(runs.agents, within, request.agentId);
  if (!agent) return notFound("Agent");
  if (request.version !== undefined) return versionNotFound(runs.agents, within.organizationId, agent.id);
  return conflict("wrong_state", "the agent has no published version");
}
