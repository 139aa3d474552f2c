/** `call: mcp` (DSL reference "MCP Call"): one request to an MCP server, over guarded HTTP or to a command that the operator allows. */
import type { BodyOf } from "../../definition/program.ts";
import { neededBy } from "../../definition/tasks/mcp.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { authenticationOf } from "../calls/authentication.ts";
import { TIMEOUT_MS } from "../calls/http-call.ts";
import { environmentOf, wordsOf } from "../calls/mcp/command-words.ts";
import type { McpCall } from "../calls/mcp/mcp-call.ts";
import { withFilledRequest } from "../calls/fill-request.ts";
import { prepareKept } from "../calls/prepare-request.ts";
import { shownArguments } from "../calls/secret-arguments.ts";
import { performEffect } from "../effect.ts";
import { asDuration } from "../evaluate.ts";
import { complete, type RunTask } from "../frame.ts";

const POST = { method: "POST" };
const LONGEST_MS = LIMITS.callSeconds * 1_000;

export const createRunMcp =
  (call: McpCall): RunTask<BodyOf<"mcp">> =>
  async (frame, body) => {
    const { execution, task } = frame;
    const place = `${task.reference}/with/transport/http`;
    const output = await performEffect(frame, {
      async prepare() {
        return prepared((await shownArguments(frame, body)) as JsonObject, frame.input, body, task.reference);
      },
      async perform(request, context) {
        const authentication = await authenticationOf(frame, body.authentication, call.readSecrets);
        const timeout = request["timeout"];
        const ownMs = timeout === undefined ? (task.timeout ? LONGEST_MS : TIMEOUT_MS) : asDuration(timeout);
        const limitMs = Math.min(ownMs, LONGEST_MS);
        const endsAt = execution.now() + limitMs;
        const leftMs = (): number => Math.max(1, endsAt - execution.now());
        const environment = await environmentOf(frame, body.environment, authentication);
        const { takesErrors } = body;
        const filling = {
          place,
          secrets: authentication.secrets,
          signal: context.signal,
          kept: request,
          defaults: POST,
        };
        return withFilledRequest(frame, body, filling, (filled) =>
          call.perform(request, { ...context, authentication, filled, environment, limitMs, leftMs, takesErrors }),
        );
      },
    });
    return complete(frame, output);
  };

/** Throws WorkflowError: nothing is sent while a value is missing. */
function prepared(values: JsonObject, input: Json, body: BodyOf<"mcp">, reference: string): JsonObject {
  const { endpoint, headers, method, parameters = {}, timeout } = values;
  const place = `${reference}/with`;
  const way =
    endpoint === undefined
      ? { arguments: wordsOf(values["arguments"], `${place}/transport/stdio/arguments`) }
      : addressOf(endpoint, headers, { input, body, place: `${place}/transport/http` });
  if (timeout !== undefined) asDuration(timeout);
  if (!isObject(parameters)) throw unfit(`${place}/parameters is not an object`);
  const needed = neededBy(method as string);
  const name = needed === undefined ? undefined : parameters[needed];
  if (needed !== undefined && (typeof name !== "string" || name === ""))
    throw unfit(`${place}/parameters/${needed} is ${name === "" ? "an empty text" : "not a text"}`);
  return { ...values, parameters, ...way };
}

type Written = { input: Json; body: BodyOf<"mcp">; place: string };

function addressOf(endpoint: Json, headers: Json | undefined, { input, body, place }: Written): JsonObject {
  const address = { ...POST, endpoint, ...(headers !== undefined && { headers }) };
  return { endpoint: prepareKept(address, input, body, place)["endpoint"]! };
}

const unfit = (why: string): WorkflowError => WorkflowError.of("expression", `${why}, so nothing was sent`);
