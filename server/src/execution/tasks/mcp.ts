/** `call: mcp` (DSL reference "MCP Call"): one request to an MCP server, over guarded HTTP or to a command that the operator allows. */
import type { BodyOf } from "../../definition/program.ts";
import { neededBy } from "../../definition/tasks/mcp.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import { inTurns } from "../../fairness/slices.ts";
import { isObject, isScalar, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { isStorable } from "../../lib/text.ts";
import { VERSION } from "../../lib/version.ts";
import {
  authenticationOf,
  evaluateWithSecrets,
  type Authentication,
  type ReadSecrets,
} from "../calls/authentication.ts";
import { oneSearchAtATime, type Calling } from "../calls/calling.ts";
import { Credentials } from "../calls/http-response.ts";
import { withCommand, type McpCommands } from "../calls/mcp/commands.ts";
import { converse, converseWithCommand, type Answer } from "../calls/mcp/conversation.ts";
import { lineTo } from "../calls/mcp/line.ts";
import type { Asked } from "../calls/mcp/message.ts";
import { outputOf } from "../calls/mcp/outcome.ts";
import type { Limited } from "../calls/mcp/reader.ts";
import type { Started } from "../calls/mcp/running-command.ts";
import { prepareRequest } from "../calls/prepare-request.ts";
import { performEffect, type EffectContext } from "../effect.ts";
import { asDuration, evaluate } from "../evaluate.ts";
import { complete, type Frame, type RunTask } from "../frame.ts";

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
    /** A command's variables, evaluated likewise. */
    environment: Record<string, string>;
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

export function createMcpCall(calling: Calling, commands: McpCommands): McpCall {
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
      const way = { calling, context, credentials, searching, conclude, keep };
      const asked = askedBy(request, context);
      const revision = request["protocolVersion"] as string | undefined;
      try {
        if (request["command"] === undefined) await converse(lineTo(request, way), asked, revision);
        else
          await withCommand(commands, commandIn(request, context), way, (line) =>
            converseWithCommand(line, asked, revision),
          );
      } catch (error) {
        throw await searching(() => inTurns(credentials.hideIn(error), turn));
      }
      return output;
    },
  };
}

const commandIn = (request: JsonObject, { environment }: McpContext): Started => ({
  command: request["command"] as string,
  arguments: request["arguments"] as string[],
  environment,
});

const OURSELVES: JsonObject = { name: "autograph", version: VERSION };

const askedBy = (request: JsonObject, { idempotencyKey }: McpContext): Asked => ({
  method: request["method"] as string,
  parameters: request["parameters"] as JsonObject,
  client: (request["client"] as JsonObject | undefined) ?? OURSELVES,
  idempotencyKey,
});
