/** What every start has in common, whoever asks for it: the agent's version, the checked input, the first state. */
import { takesRuns } from "../agents/agent.ts";
import { published, type Published } from "../agents/published.ts";
import { checkInput } from "../definition/check-input.ts";
import { badInput, conflict, notFound, Refusal } from "../lib/errors.ts";
import { newId, type AgentId, type OrganizationId } from "../lib/ids.ts";
import type { Json, JsonObject } from "../lib/json.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Head } from "./loaded-run.ts";
import type { Run } from "./run.ts";
import type { Runs } from "./runs.ts";

export type NewRun = { version: Published; input: JsonObject; inputText: string };

/** Throws UNAVAILABLE, NOT_FOUND, CONFLICT (the agent takes no runs) or BAD_USER_INPUT with the fields. */
export async function prepareRun(
  runs: Runs,
  organizationId: OrganizationId,
  request: { agentId: AgentId; version?: string; input: Json },
): Promise<NewRun> {
  if (runs.draining) throw new Refusal("UNAVAILABLE", "the server is shutting down", { retryAfter: 5 });
  if (!runs.hasSpace()) {
    throw new Refusal("UNAVAILABLE", "the server's disk is nearly full: no new runs for now", { retryAfter: 60 });
  }
  const version = await published(runs.agents, organizationId, request.agentId, request.version);
  if (!version) throw await notPublished(runs, organizationId, request);
  if (!takesRuns(version.agent)) throw conflict(`the agent is ${version.agent.status}: it takes no new runs`);
  return { version, ...checkedInput(version, request.input) };
}

/** The input with the form's defaults written in, and its JSON text. */
export function checkedInput(
  version: Pick<Published, "inputSchema">,
  input: Json,
): { input: JsonObject; inputText: string } {
  const checked = checkInput(version.inputSchema, input, "input.input");
  if (checked.problems) throw badInput("the input does not fit the agent's form", checked.problems);
  const inputText = JSON.stringify(checked.value);
  if (inputText.length > LIMITS.inputBytes / 3 && Buffer.byteLength(inputText) > LIMITS.inputBytes) throw tooLarge();
  return { input: checked.value, inputText };
}

function tooLarge(): Refusal {
  const message = `has at most ${LIMITS.inputBytes} bytes`;
  return badInput(`the input ${message}`, [{ path: "input.input", code: "too_large", message }]);
}

async function notPublished(
  runs: Runs,
  organizationId: OrganizationId,
  request: { agentId: AgentId; version?: string },
): Promise<Refusal> {
  const agent = await runs.agents.cache.agent(organizationId, request.agentId);
  if (!agent) return notFound("Agent");
  if (request.version !== undefined) return notFound("Version");
  return conflict("the agent has no published version");
}

/** A run that waits to be begun; `revision` 0: it is not in the database. */
export const newHead = (
  runs: Runs,
  { version: { agent, version }, input }: NewRun,
  own: Pick<Head, "organizationId" | "startedBy"> & Partial<Head>,
): Head => ({
  id: newId(),
  projectId: agent.projectId,
  agentId: agent.id,
  version,
  status: "pending",
  input,
  output: null,
  error: null,
  createdAt: runs.clock.now(),
  startedAt: null,
  finishedAt: null,
  runAt: null,
  revision: 0,
  currentStep: null,
  progress: 0,
  parent: null,
  retryOf: null,
  limited: agent.concurrencyLimit !== null,
  state: {},
  epoch: 0,
  wakeSeq: 0,
  ...own,
});

export type Starter = Run["startedBy"];
