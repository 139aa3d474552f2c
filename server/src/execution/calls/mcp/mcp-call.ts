/** One request to an MCP server, over guarded HTTP or to a command that the operator allows, and what its answer is. */
import { inTurns } from "../../../fairness/slices.ts";
import type { Json, JsonObject } from "../../../lib/json/json.ts";
import { VERSION } from "../../../lib/version.ts";
import type { EffectContext } from "../../effect.ts";
import type { Authentication, ReadSecrets } from "../authentication.ts";
import { oneSearchAtATime, type Calling } from "../calling.ts";
import { Credentials } from "../http-response.ts";
import { withCommand, type McpCommands } from "./commands.ts";
import { converse, converseWithCommand, type Answer } from "./conversation.ts";
import { lineTo } from "./line.ts";
import type { Asked } from "./message.ts";
import { outputOf } from "./outcome.ts";
import type { Limited } from "./reader.ts";
import type { Started } from "./running-command.ts";

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
