/** A run as a tool answers it. */
import type { Run, RunError } from "../execution/run/run.ts";
import type { Refusal } from "../lib/errors.ts";
import { encodeId } from "../lib/ids.ts";
import type { JsonObject } from "../lib/json/json.ts";
import { stringify } from "../lib/json/json-text.ts";
import type { Call, Mcp } from "./call.ts";
import { metaOf, type ToolResult } from "./protocol.ts";
import { readPayload } from "./read-payload.ts";

const STATUSES = [
  "pending",
  "running",
  "paused",
  "completed",
  "failed",
  "cancelled",
] as const satisfies Run["status"][];

/** The form of `structuredContent`. */
export const RUN_SCHEMA: JsonObject = {
  type: "object",
  properties: {
    runId: { type: "string", description: "The run's id. get_run asks for it again." },
    status: { type: "string", enum: [...STATUSES] },
    output: { description: "What the agent returned; null unless the run is completed." },
  },
  required: ["runId", "status", "output"],
};

/** `failsWithRun`: the tool is the agent, so that its call fails as the run does. */
export async function runResult(
  mcp: Mcp,
  call: Call,
  run: Run,
  { failsWithRun }: { failsWithRun: boolean },
): Promise<ToolResult> {
  const output = await readPayload(mcp, call, run.output, { of: "run", id: run.id, column: "output" });
  const structuredContent = { runId: encodeId("run", run.id), status: run.status, output };
  const sentence = await sentenceOf(mcp, call, run);
  const isError = failsWithRun && (run.status === "failed" || run.status === "cancelled");
  const texts = [stringify(structuredContent), ...(sentence === undefined ? [] : [sentence])];
  return {
    content: texts.map((text) => ({ type: "text", text })),
    structuredContent,
    ...(isError && { isError }),
  };
}

/** A run that was started, when what it answers cannot be shown: the client must not start another. */
export function unshownResult(run: Run, refusal: Refusal): ToolResult {
  const structuredContent = { runId: encodeId("run", run.id), status: run.status, output: null };
  const sentence = `The run was started, but what it answers cannot be shown: ${refusal.message}. get_run shows it. Do not start it again.`;
  const texts = [stringify(structuredContent), sentence];
  return {
    content: texts.map((text) => ({ type: "text", text })),
    structuredContent,
    isError: true,
    _meta: metaOf(refusal),
  };
}

/** A sentence for the model, beside the JSON. */
async function sentenceOf(mcp: Mcp, call: Call, run: Run): Promise<string | undefined> {
  switch (run.status) {
    case "completed":
      return undefined;
    case "failed":
      return `The run failed: ${await reasonOf(mcp, call, run)}`;
    case "cancelled":
      return "The run was cancelled.";
    case "paused":
      return "The run waits for a person to decide an approval. list_approvals shows what is asked; get_run shows how the run goes on.";
    case "pending":
    case "running":
      return "The run has not ended yet. It goes on by itself: get_run shows how it ends. Do not start it again.";
  }
}

async function reasonOf(mcp: Mcp, call: Call, run: Run): Promise<string> {
  const text = await readPayload(mcp, call, run.error, { of: "run", id: run.id, column: "error" });
  const error = text?.value as RunError | undefined;
  return [error?.title, error?.detail].filter(Boolean).join(" ") || (error?.type ?? "for an unknown reason");
}
