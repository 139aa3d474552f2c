/** Shared by all starts: the agent's version, the checked input, the first state. */
import { takesRuns } from "../agents/agent.ts";
import { published, readAgent, type Published } from "../agents/published.ts";
import { versionNotFound } from "../agents/versions.ts";
import { checkInput, misfitOf, type InputOptions } from "../definition/form/check-input.ts";
import { badInput, conflict, notFound, Refusal } from "../lib/errors.ts";
import type { AgentId } from "../lib/ids.ts";
import type { Json, JsonObject } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Within } from "../lib/reach.ts";
import type { Runs } from "./handle/runs.ts";

/** `path`: where the input is in what was asked; `unknown`: what becomes of keys that the form does not know. */
type InputRequest = { path?: string } & InputOptions;

export type PreparedRun = { version: Published; input: JsonObject; inputText: string };

/** Throws UNAVAILABLE when the server accepts nothing new at all. */
export function checkTakes(what: "runs" | "events", runs: Pick<Runs, "executions" | "hasSpace">): void {
  if (runs.executions.draining) throw new Refusal("UNAVAILABLE", "the server is shutting down", { retryAfter: 5 });
  if (!runs.hasSpace()) {
    throw new Refusal("UNAVAILABLE", `the server's disk is nearly full: no new ${what} for now`, { retryAfter: 60 });
  }
}

/** Throws UNAVAILABLE, NOT_FOUND, CONFLICT (the agent takes no runs) or BAD_USER_INPUT with the fields. */
export async function prepareRun(
  runs: Runs,
  within: Within,
  request: { agentId: AgentId; version?: string | undefined; input: Json } & InputRequest,
): Promise<PreparedRun> {
  checkTakes("runs", runs);
  const version = await published(runs.agents, within, request.agentId, request.version);
  if (!version) throw await notPublished(runs, within, request);
  if (!takesRuns(version.agent))
    throw conflict(
      "wrong_state",
      `the agent is ${version.agent.status}: it takes no new runs until setAgentStatus makes it active`,
    );
  const { input, inputText } = checkStartInput(version, request.input, request);
  return { version, input, inputText };
}

/** The input with the form's defaults written in, and its JSON text. */
export function checkStartInput(
  version: Pick<Published, "inputSchema">,
  input: Json,
  { path = "input.input", unknown = "refuse" }: InputRequest = {},
): { input: JsonObject; inputText: string } {
  const checked = checkInput(version.inputSchema, input, path, { unknown });
  if (checked.problems) throw misfitOf("the input does not fit the agent's form", checked.problems, path);
  const inputText = JSON.stringify(checked.value);
  if (inputText.length > LIMITS.inputBytes / 3 && Buffer.byteLength(inputText) > LIMITS.inputBytes)
    throw tooLarge(path);
  return { input: checked.value, inputText };
}

function tooLarge(path: string): Refusal {
  const message = `has at most ${LIMITS.inputBytes} bytes`;
  return badInput("invalid_input", `the input ${message}`, [{ path, code: "too_large", message }]);
}

async function notPublished(
  runs: Runs,
  within: Within,
  request: { agentId: AgentId; version?: string | undefined },
): Promise<Refusal> {
  const agent = await readAgent(runs.agents, within, request.agentId);
  if (!agent) return notFound("Agent");
  if (request.version !== undefined) return versionNotFound(runs.agents, within.organizationId, agent.id);
  return conflict("wrong_state", "the agent has no published version");
}
