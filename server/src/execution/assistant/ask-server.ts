/** One request to an MCP server whose tools an assistant may call. */
import type { AssistantTool } from "../../definition/tasks/assistant.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { authenticationOf } from "../calls/authentication.ts";
import { prepareRequest } from "../calls/prepare-request.ts";
import type { EffectContext } from "../effect.ts";
import { evaluate } from "../evaluate.ts";
import type { Frame } from "../frame.ts";
import { TIMEOUT_MS } from "../calls/http-call.ts";
import { environmentOf, wordsOf } from "../calls/mcp/command-words.ts";
import type { McpCall } from "../calls/mcp/mcp-call.ts";

type Server = AssistantTool & { is: "mcp" };

/** `{endpoint, headers}` or `{command, arguments}`. Throws WorkflowError: nothing is sent while a value is missing. */
export async function serverRequest(frame: Frame, { arguments: template, reference }: Server): Promise<JsonObject> {
  const { execution, input, step, variables } = frame;
  const values = (await evaluate(execution, template, input, variables, step)) as JsonObject;
  const { command } = values;
  if (command !== undefined) return { command, arguments: wordsOf(values["arguments"], `${reference}/arguments`) };
  const { endpoint } = prepareRequest({ method: "POST", ...values }, input, template, reference);
  return { endpoint: endpoint!, headers: values["headers"]! };
}

/** Throws WorkflowError. The caller holds what it makes of the answer. */
export async function askServer(
  frame: Frame,
  mcp: McpCall,
  server: Server,
  { request, context }: { request: JsonObject; context: EffectContext },
): Promise<Json> {
  const { execution } = frame;
  const authentication = await authenticationOf(frame, server.authentication, mcp.readSecrets);
  // From the first exchange on: it may wait for its turn at a command.
  let endsAt: number | undefined;
  return mcp.perform(request, {
    ...context,
    hold: () => undefined,
    authentication,
    environment: await environmentOf(frame, server.environment, authentication),
    takesErrors: false,
    limitMs: TIMEOUT_MS,
    leftMs: () => Math.max(1, (endsAt ??= execution.now() + TIMEOUT_MS) - execution.now()),
  });
}
