/** Whether a model answers as it has to, for a person who looks at the settings. */
import { Refusal } from "../lib/errors.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { objectIn } from "./answer.ts";
import type { ModelAnswer, ModelRequest } from "./call-model.ts";
import type { Connection } from "./connection.ts";
import { isNotUnderstood, type Call, type Llm } from "./llm.ts";
import { LlmError, type LlmProblem } from "./problem.ts";

export type ModelTest = {
  durationMs: number;
  /** The model's name as the endpoint gave it. */
  answeredBy: string | null;
  /** Null: it was not found out. */
  hasStructuredOutput: boolean | null;
  hasTools: boolean | null;
  /** Null: it answered. */
  problem: LlmProblem | null;
  /** A sentence. */
  detail: string | null;
};

const SYSTEM = 'Answer with the JSON object {"ok": true}.';
const OK = {
  type: "object",
  properties: { ok: { type: "boolean" } },
  required: ["ok"],
  additionalProperties: false,
};

const QUESTION: ModelRequest = {
  system: SYSTEM,
  messages: [{ role: "user", text: "Are you there?" }],
  maxTokens: LIMITS.llmAnswerTokens,
};

/** Throws RATE_LIMITED, or the signal's reason. `asksForTools`: also whether it takes functions. */
export async function testConnection(
  llm: Llm,
  connection: Connection,
  {
    organizationId,
    signal,
    asksForTools,
  }: { organizationId: OrganizationId; signal: AbortSignal; asksForTools: boolean },
): Promise<ModelTest> {
  const { isTaken, resetMs } = llm.tests.take(organizationId, LIMITS.llmTestsPerMinute);
  if (!isTaken) {
    const retryAfter = Math.ceil(resetMs / 1000);
    const message = `at most ${LIMITS.llmTestsPerMinute} tests a minute: try again in ${retryAfter} s`;
    throw new Refusal("RATE_LIMITED", message, { retryAfter });
  }
  const begunAt = performance.now();
  const ended = (found: Partial<ModelTest>): ModelTest => ({
    durationMs: Math.round(performance.now() - begunAt),
    answeredBy: null,
    hasStructuredOutput: null,
    hasTools: null,
    problem: null,
    detail: null,
    ...found,
  });
  try {
    return await llm.use(connection, { organizationId, signal }, async (call) => {
      const { answer, hasStructuredOutput } = await askStructured(call);
      const { model: answeredBy = null } = answer;
      if (!objectIn(answer.text))
        return ended({
          answeredBy,
          problem: "unusable",
          detail: "it answered, but not with the JSON object that it was asked for",
        });
      const hasTools = asksForTools ? await takesTools(call) : null;
      return ended({ answeredBy, hasStructuredOutput, hasTools });
    });
  } catch (error) {
    if (!(error instanceof LlmError)) throw error;
    return ended({ problem: error.problem, detail: error.message });
  }
}

async function askStructured(call: Call): Promise<{ answer: ModelAnswer; hasStructuredOutput: boolean }> {
  try {
    return { answer: await call({ ...QUESTION, schema: OK }), hasStructuredOutput: true };
  } catch (error) {
    if (!isNotUnderstood(error)) throw error;
    return { answer: await call({ ...QUESTION, maxTokens: undefined }), hasStructuredOutput: false };
  }
}

async function takesTools(call: Call): Promise<boolean> {
  const confirm = { name: "confirm", description: "Confirms that you are there.", parameters: OK };
  try {
    const { toolCalls } = await call({
      ...QUESTION,
      system: "Call the function confirm, and say nothing.",
      maxTokens: undefined,
      tools: [confirm],
    });
    return toolCalls.some(({ name }) => name === confirm.name);
  } catch (error) {
    if (!isNotUnderstood(error)) throw error;
    return false;
  }
}
