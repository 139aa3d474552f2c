/** One tool call of an assistant. */
import type { AssistantTool } from "../../definition/tasks/assistant.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { performEffect, type EffectContext } from "../effect.ts";
import type { Frame } from "../frame.ts";
import { attemptRequest, preparedRequest, TIMEOUT_MS, type HttpCall } from "../calls/http-call.ts";
import type { McpCall } from "../calls/mcp/mcp-call.ts";
import { startedChild } from "../child-run.ts";
import { askServer, serverRequest } from "./ask-server.ts";
import { namespaceOf, type OfferedTool } from "./offered-tools.ts";

export type Reach = { http: HttpCall; mcp: McpCall };

/** Returns the answer as the model reads it. Throws WorkflowError. */
export async function callTool(reach: Reach, frame: Frame, tool: OfferedTool, given: JsonObject): Promise<Json> {
  const { written } = tool;
  // Each step shows `{arguments, request}`.
  if (written.is === "agent") return callAgent(frame, written, given);
  const call = written.is === "http" ? httpCall(reach, frame, written, given) : mcpCall(reach, frame, tool, given);
  return performEffect(frame, {
    prepare: async () => ({ arguments: given, request: await call.prepare() }),
    async perform(kept, context) {
      const answer = readable(await call.perform(kept["request"] as JsonObject, context));
      await context.hold(answer);
      return answer;
    },
  });
}

async function callAgent(frame: Frame, agent: AssistantTool & { is: "agent" }, given: JsonObject): Promise<Json> {
  const namespace = agent.namespace ?? namespaceOf(frame.execution.program.definition);
  const output = await startedChild(
    frame,
    { namespace, name: agent.handle, awaits: true },
    {
      make: () => ({ arguments: given }),
      inputIn: (kept) => (kept as JsonObject)["arguments"]!,
    },
  );
  return readable(output);
}

type Call = {
  prepare(): JsonObject | Promise<JsonObject>;
  perform(request: JsonObject, context: EffectContext): Promise<Json>;
};

function httpCall({ http }: Reach, own: Frame, tool: AssistantTool & { is: "http" }, given: JsonObject): Call {
  const frame = withArguments(own, given);
  const place = `${tool.reference}/call`;
  return {
    prepare: () => preparedRequest(frame, tool.call, place),
    perform: (kept, context) =>
      attemptRequest(http, frame, { body: tool.call, place }, kept, {
        ...context,
        hold: () => undefined,
        timeoutMs: TIMEOUT_MS,
      }),
  };
}

/** With `$arguments`. */
export const withArguments = (frame: Frame, given: JsonObject): Frame => ({
  ...frame,
  variables: (used) => ({ ...frame.variables(used), arguments: given }),
});

function mcpCall({ mcp }: Reach, frame: Frame, { written, remote }: OfferedTool, given: JsonObject): Call {
  const server = written as AssistantTool & { is: "mcp" };
  return {
    prepare: async () => ({
      method: "tools/call",
      parameters: { name: remote!, arguments: given },
      ...(await serverRequest(frame, server)),
    }),
    perform: async (request, context) => contentOf(await askServer(frame, mcp, server, { request, context })),
  };
}

/** The words of a tool's result; without any, its structured content. */
function contentOf(result: Json): Json {
  const { content, structuredContent } = isObject(result) ? result : {};
  const parts = (Array.isArray(content) ? content : []).flatMap((part) => {
    if (!isObject(part)) return [];
    const { type, text } = part;
    return [typeof text === "string" ? text : `[${typeof type === "string" ? type : "something"}, left out]`];
  });
  if (parts.length > 0) return parts.join("\n");
  return structuredContent ?? "";
}

/** The value, or the beginning of its text. */
function readable(output: Json): Json {
  const text = typeof output === "string" ? output : JSON.stringify(output);
  const most = LIMITS.assistantAnswerBytes;
  if (text.length * 3 <= most || Buffer.byteLength(text) <= most) return output;
  const bytes = Buffer.from(text);
  const beginning = new TextDecoder().decode(bytes.subarray(0, most)).replace(/\uFFFD$/, "");
  return `${beginning}\n[cut: the answer has ${bytes.length} bytes, these are the first ${most}]`;
}
