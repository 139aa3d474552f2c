/** `call: mcp` (DSL reference "MCP Call"): one request to an MCP server, over guarded HTTP or to a command that the operator allows. */
import type { BodyOf } from "../../definition/program.ts";
import { neededBy } from "../../definition/tasks/mcp.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import { isObject, isScalar, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { isStorable } from "../../lib/text.ts";
import { authenticationOf, evaluateWithSecrets, type Authentication } from "../calls/authentication.ts";
import { TIMEOUT_MS } from "../calls/http-call.ts";
import type { McpCall } from "../calls/mcp/mcp-call.ts";
import { prepareRequest } from "../calls/prepare-request.ts";
import { performEffect } from "../effect.ts";
import { asDuration, evaluate } from "../evaluate.ts";
import { complete, type Frame, type RunTask } from "../frame.ts";

const LONGEST_MS = LIMITS.callSeconds * 1_000;

export const createRunMcp =
  (call: McpCall): RunTask<BodyOf<"mcp">> =>
  async (frame, body) => {
    const { execution, input, step, variables, task } = frame;
    const output = await performEffect(frame, {
      async prepare() {
        const values = await evaluate(execution, body.arguments, input, variables, step);
        return prepared(values as JsonObject, input, body, task.reference);
      },
      async perform(request, context) {
        const authentication = await authenticationOf(frame, body.authentication, call.readSecrets);
        const timeout = request["timeout"];
        const ownMs = timeout === undefined ? (task.timeout ? LONGEST_MS : TIMEOUT_MS) : asDuration(timeout);
        const limitMs = Math.min(ownMs, LONGEST_MS);
        const endsAt = execution.now() + limitMs;
        const leftMs = (): number => Math.max(1, endsAt - execution.now());
        const environment = await environmentOf(frame, body, authentication);
        const { takesErrors } = body;
        return call.perform(request, { ...context, authentication, environment, limitMs, leftMs, takesErrors });
      },
    });
    return complete(frame, output);
  };

/** Throws WorkflowError: nothing is sent while a value is missing. */
function prepared(
  values: JsonObject,
  input: Json,
  { arguments: template }: BodyOf<"mcp">,
  reference: string,
): JsonObject {
  const { endpoint, headers, method, parameters = {}, timeout } = values;
  const place = `${reference}/with`;
  const way =
    endpoint === undefined
      ? { arguments: wordsOf(values["arguments"], `${place}/transport/stdio/arguments`) }
      : addressOf(endpoint, headers, { input, template, place: `${place}/transport/http` });
  if (timeout !== undefined) asDuration(timeout);
  if (!isObject(parameters)) throw unfit(`${place}/parameters is not an object`);
  const needed = neededBy(method as string);
  const name = needed === undefined ? undefined : parameters[needed];
  if (needed !== undefined && (typeof name !== "string" || name === ""))
    throw unfit(`${place}/parameters/${needed} is ${name === "" ? "an empty text" : "not a text"}`);
  return { ...values, parameters, ...way };
}

type Written = { input: Json; template: BodyOf<"mcp">["arguments"]; place: string };

function addressOf(endpoint: Json, headers: Json | undefined, { input, template, place }: Written): JsonObject {
  const address = { method: "POST", endpoint, ...(headers !== undefined && { headers }) };
  return { endpoint: prepareRequest(address, input, template, place)["endpoint"]! };
}

const wordsOf = (words: Json = [], place: string): string[] =>
  (words as Json[]).map((word, index) => wordOf(word, `${place}/${index}`));

/** As the command gets it: a text without NUL, which ends one there. */
function wordOf(value: Json, place: string): string {
  const isWord = value !== null && isScalar(value);
  if (isWord && isStorable(String(value))) return String(value);
  throw unfit(`${place} is ${isWord ? "not a text that a command can be given" : "not a text"}`);
}

async function environmentOf(
  frame: Frame,
  { environment }: BodyOf<"mcp">,
  { secrets }: Authentication,
): Promise<Record<string, string>> {
  if (!environment) return {};
  const values = await evaluateWithSecrets(frame, environment, secrets);
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, wordOf(value, `${environment.place}/${name}`)]),
  );
}

const unfit = (why: string): WorkflowError => WorkflowError.of("expression", `${why}, so nothing was sent`);
