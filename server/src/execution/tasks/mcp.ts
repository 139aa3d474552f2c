/** `call: mcp` (DSL reference "MCP Call"): one request to an MCP server behind the outbound guard. */
import type { BodyOf } from "../../definition/program.ts";
import { neededBy } from "../../definition/tasks/mcp.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import { inTurns } from "../../fairness/slices.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { VERSION } from "../../lib/version.ts";
import { authenticationOf, type Authentication, type ReadSecrets } from "../calls/authentication.ts";
import { oneSearchAtATime, type Calling } from "../calls/calling.ts";
import { Credentials } from "../calls/http-response.ts";
import { converse, type Answer } from "../calls/mcp/conversation.ts";
import { lineTo, type Limited } from "../calls/mcp/line.ts";
import type { Asked } from "../calls/mcp/message.ts";
import { outputOf } from "../calls/mcp/outcome.ts";
import { prepareRequest } from "../calls/prepare-request.ts";
import { performEffect, type EffectContext } from "../effect.ts";
import { asDuration, evaluate } from "../evaluate.ts";
import { complete, type RunTask } from "../frame.ts";

/** A call without a time limit of its own is given up after this long. */
const TIMEOUT_MS = 60_000;
const LONGEST_MS = LIMITS.callSeconds * 1_000;

/** `perform` throws WorkflowError. */
export type McpCall = {
  readSecrets: ReadSecrets;
  perform(request: JsonObject, context: McpContext): Promise<Json>;
};

type McpContext = EffectContext &
  Limited & {
    /** Evaluated for each attempt: it may hold secrets and is never kept. */
    authentication: Authentication;
    /** A tool's own error is the output. */
    takesErrors: boolean;
  };

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
        return call.perform(request, { ...context, authentication, limitMs, leftMs, takesErrors: body.takesErrors });
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
  const address = { method: "POST", endpoint: endpoint!, ...(headers !== undefined && { headers }) };
  const { endpoint: url } = prepareRequest(address, input, template, `${place}/transport/http`);
  if (timeout !== undefined) asDuration(timeout);
  if (!isObject(parameters)) throw unfit(`${place}/parameters is not an object`);
  const needed = neededBy(method as string);
  const name = needed === undefined ? undefined : parameters[needed];
  if (needed !== undefined && (typeof name !== "string" || name === ""))
    throw unfit(`${place}/parameters/${needed} is ${name === "" ? "an empty text" : "not a text"}`);
  return { ...values, parameters, endpoint: url! };
}

const unfit = (why: string): WorkflowError => WorkflowError.of("expression", `${why}, so nothing was sent`);

export function createMcpCall(calling: Calling): McpCall {
  return {
    readSecrets: calling.readSecrets,
    async perform(request, context) {
      const { organizationId, turn, takesErrors } = context;
      const { policy, secrets } = context.authentication;
      const credentials = new Credentials(policy, secrets);
      const searching = oneSearchAtATime(calling.concealing, organizationId, credentials);
      let output: Json = null;
      const conclude = async (answer: Answer, result: JsonObject): Promise<void> => {
        output = await outputOf(answer, result, { credentials, turn, takesErrors });
      };
      const keep = async (): Promise<void> => {
        const saved = context.hold(output);
        if (saved) output = null;
        await saved;
      };
      const line = lineTo(request, { calling, context, credentials, searching, conclude, keep });
      try {
        await converse(line, askedBy(request, context), request["protocolVersion"] as string | undefined);
      } catch (error) {
        throw await searching(() => inTurns(credentials.hideIn(error), turn));
      }
      return output;
    },
  };
}

const OURSELVES: JsonObject = { name: "autograph", version: VERSION };

const askedBy = (request: JsonObject, { idempotencyKey }: McpContext): Asked => ({
  method: request["method"] as string,
  parameters: request["parameters"] as JsonObject,
  client: (request["client"] as JsonObject | undefined) ?? OURSELVES,
  idempotencyKey,
});
