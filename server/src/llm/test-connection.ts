/** Whether the configured model answers as it has to, for a person who looks at the settings. */
import { conflict, Refusal } from "../lib/errors.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { objectIn } from "./answer.ts";
import type { Llm } from "./llm.ts";
import { LlmError, type LlmProblem } from "./problem.ts";

export type LlmTest = {
  durationMs: number;
  /** Null: it answered. */
  problem: LlmProblem | null;
  /** A sentence. */
  detail: string | null;
};

const QUESTION = {
  system: 'Answer with the JSON object {"ok": true}.',
  prompt: "Are you there?",
  schema: {
    type: "object",
    properties: { ok: { type: "boolean" } },
    required: ["ok"],
    additionalProperties: false,
  },
};

/** Throws CONFLICT (none is configured) or RATE_LIMITED. */
export async function testConnection(
  llm: Llm | undefined,
  organizationId: OrganizationId,
  signal: AbortSignal,
): Promise<LlmTest> {
  if (!llm) throw conflict("wrong_state", "no model is configured: set LLM_BASE_URL and LLM_MODEL, and start again");
  const { isTaken, resetMs } = llm.tests.take(organizationId, LIMITS.llmTestsPerMinute);
  if (!isTaken) {
    const retryAfter = Math.ceil(resetMs / 1000);
    const message = `at most ${LIMITS.llmTestsPerMinute} tests a minute: try again in ${retryAfter} s`;
    throw new Refusal("RATE_LIMITED", message, { retryAfter });
  }
  const begunAt = performance.now();
  const ended = (problem: LlmProblem | null, detail: string | null): LlmTest => ({
    durationMs: Math.round(performance.now() - begunAt),
    problem,
    detail,
  });
  try {
    const answer = objectIn(await llm.use(organizationId, signal, (ask) => ask(QUESTION)));
    return answer
      ? ended(null, null)
      : ended("unusable", "it answered, but not with the JSON object that it was asked for");
  } catch (error) {
    if (!(error instanceof LlmError)) throw error;
    return ended(error.problem, error.message);
  }
}
