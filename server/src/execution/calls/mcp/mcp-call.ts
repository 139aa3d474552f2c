/** One request to an MCP server, over guarded HTTP or to a command that the operator allows, and what its answer is. */
import { inTurns } from "../../../fairness/slices.ts";
import type { Json, JsonObject } from "../../../lib/json/json.ts";
import { VERSION } from "../../../lib/version.ts";
import type { EffectContext } from "../../effect.ts";
import type { Authentication, ReadSecrets } from "../authentication.ts";
import { oneSearchAtATime, type Calling } from "../calling.ts";
import type { FilledRequest } from "../fill-request.ts";
import { Credentials } from "../http-response.ts";
import { withCommand, type McpCommands } from "./commands.ts";
import { askCommand, beginWithCommand, converse, type Answer } from "./conversation.ts";
import type { McpFigures } from "./figures.ts";
import { KeptCommands } from "./kept-commands.ts";
import { lineTo } from "./line.ts";
import type { Asked } from "./message.ts";
import { outputOf } from "./outcome.ts";
import type { Limited, Way } from "./reader.ts";
import type { Started } from "./running-command.ts";

/** `perform` throws WorkflowError. */
export type McpCall = {
  readSecrets: ReadSecrets;
  /** `kept`: the request as it is kept and shown. */
  perform(kept: JsonObject, context: McpContext): Promise<Json>;
  /** The same, but a command stays from one request to the next until this is disposed of. */
  keeping(): McpCall & Disposable;
};

type McpContext = EffectContext &
  Limited & {
    /** Evaluated for each attempt: it may hold secrets and is never kept. */
    authentication: Authentication;
    /** The request with the secrets that its endpoint and headers name. */
    filled: FilledRequest | undefined;
    /** A command's variables, evaluated likewise. */
    environment: Record<string, string>;
    /** A tool's own error is the output. */
    takesErrors: boolean;
  };

export function createMcpCall(calling: Calling, commands: McpCommands, figures: McpFigures): McpCall {
  const { readSecrets } = calling;
  const once: AskCommand = (wanted, way, asked, revision) =>
    withCommand(commands, wanted, way, async (line) => {
      await askCommand(line, asked, await beginWithCommand(line, asked, revision));
    });
  const call: McpCall = {
    readSecrets,
    perform: performWith(calling, figures, once),
    keeping() {
      const kept = new KeptCommands(commands);
      const perform = performWith(calling, figures, (wanted, way, asked) => kept.ask(wanted, way, asked));
      return { ...call, perform, [Symbol.dispose]: () => kept[Symbol.dispose]() };
    },
  };
  return call;
}

type AskCommand = (wanted: Started, way: Way, asked: Asked, revision: string | undefined) => Promise<void>;

const performWith =
  (calling: Calling, figures: McpFigures, ask: AskCommand): McpCall["perform"] =>
  async (kept, context) => {
    const { organizationId, turn, takesErrors, filled } = context;
    const { policy, secrets } = context.authentication;
    const request = filled ? { ...kept, ...addressIn(filled.request) } : kept;
    const credentials = new Credentials(policy, secrets, filled?.made);
    const searching = oneSearchAtATime(calling.concealing, organizationId, credentials);
    const figure = figures.begin(request["method"] as string, request["command"] === undefined ? "http" : "stdio");
    let output: Json = null;
    const conclude = async (answer: Answer, result: JsonObject): Promise<void> => {
      output = await outputOf(answer, result, { credentials, turn, takesErrors });
      figure.answered(result);
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
      else await ask(commandIn(request, context), way, asked, revision);
    } catch (error) {
      figure.failed(error);
      throw await searching(() => inTurns(credentials.hideIn(error), turn));
    }
    return output;
  };

const addressIn = ({ endpoint, headers }: JsonObject): JsonObject => ({
  endpoint: endpoint!,
  ...(headers !== undefined && { headers }),
});

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
