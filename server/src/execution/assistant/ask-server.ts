/** One request to an MCP server whose tools an assistant may call. */
import type { AssistantTool } from "../../definition/tasks/assistant.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { authenticationOf } from "../calls/authentication.ts";
import { withFilledRequest } from "../calls/fill-request.ts";
import { prepareKept } from "../calls/prepare-request.ts";
import { shownArguments } from "../calls/secret-arguments.ts";
import type { EffectContext } from "../effect.ts";
import type { Frame } from "../frame.ts";
import { TIMEOUT_MS } from "../calls/http-call.ts";
import { environmentOf, wordsOf } from "../calls/mcp/command-words.ts";
import type { McpCall } from "../calls/mcp/mcp-call.ts";

const POST = { method: "POST" };

type Server = AssistantTool & { is: "mcp" };

/** `{endpoint, headers}` or `{command, arguments}`. Throws WorkflowError: nothing is sent while a value is missing. */
export async function serverRequest(frame: Frame, server: Server): Promise<JsonObject> {
  const { reference } = server;
  const values = (await shownArguments(frame, server)) as JsonObject;
  const { command } = values;
  if (command !== undefined) return { command, arguments: wordsOf(values["arguments"], `${reference}/arguments`) };
  const { endpoint } = prepareKept({ ...POST, ...values }, frame.input, server, reference);
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
  const environment = await environmentOf(frame, server.environment, authentication);
  const { secrets } = authentication;
  const filling = { place: server.reference, secrets, signal: context.signal, kept: request, defaults: POST };
  return withFilledRequest(frame, server, filling, (filled) =>
    mcp.perform(request, {
      ...context,
      hold: () => undefined,
      authentication,
      filled,
      environment,
      takesErrors: false,
      limitMs: TIMEOUT_MS,
      leftMs: () => Math.max(1, (endsAt ??= execution.now() + TIMEOUT_MS) - execution.now()),
    }),
  );
}
