/** The tools that an MCP server lists for an assistant, as the version of its agent has pinned them. */
import { isDeepStrictEqual } from "node:util";
import type { AssistantTool } from "../../definition/tasks/assistant.ts";
import { quote } from "../../definition/text/problem.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { DescribedTools, ToolDescription } from "../../lib/mcp/tool-description.ts";
import { shownText } from "../../lib/text.ts";
import { performEffect } from "../effect.ts";
import type { Frame } from "../frame.ts";
import type { OwnStep } from "../steps.ts";
import type { McpCall } from "../calls/mcp/mcp-call.ts";
import { askServer, serverRequest } from "./ask-server.ts";

/** A server's tool as the step keeps it, with the description that is pinned. */
export type Listed = { name: string; description: string; inputSchema: JsonObject; refused?: string };

/** Asks a server for its tools, in a step of its own, and keeps those that are allowed. */
export async function listTools(
  own: OwnStep,
  mcp: McpCall,
  server: AssistantTool & { is: "mcp" },
  index: number,
): Promise<Json> {
  const outcome = await own({ name: "tools/list", kind: "mcp", key: `list-${index + 1}#1` }, (frame) =>
    performEffect(frame, {
      prepare: async () => ({ method: "tools/list", ...(await serverRequest(frame, server)) }),
      async perform(request, context) {
        const described = await describedBy(server, (parameters) =>
          askServer(frame, mcp, server, { request: { ...request, parameters }, context }),
        );
        const listed = await pinned(frame, addressOf(request), described);
        if (listed.some(({ refused }) => refused !== undefined)) frame.step.state.hasChangedTools = true;
        await context.hold(listed);
        return listed;
      },
    }),
  );
  if (outcome.error) throw outcome.error;
  return outcome.output;
}

/** The server in words: its address, or its command. */
const addressOf = ({ endpoint, command, arguments: given }: JsonObject): string =>
  endpoint === undefined ? JSON.stringify([command, ...(given as string[])]) : (endpoint as string);

/** Page by page, until all that are allowed are found. */
async function describedBy(
  { allowed }: AssistantTool & { is: "mcp" },
  ask: (parameters: JsonObject) => Promise<Json>,
): Promise<DescribedTools> {
  const described = new Map<string, ToolDescription | undefined>(
    [...allowed.values()].map((name) => [name, undefined]),
  );
  let missing = described.size;
  let cursor: Json | undefined;
  for (let page = 0; page < LIMITS.mcpPagesOfTools && missing > 0; page++) {
    const result = await ask(cursor === undefined ? {} : { cursor });
    const tools = isObject(result) && Array.isArray(result["tools"]) ? result["tools"] : [];
    for (const tool of tools) {
      const name = isObject(tool) ? (tool["name"] as string) : "";
      if (!described.has(name) || described.get(name)) continue;
      described.set(name, descriptionOf(tool as JsonObject));
      missing--;
    }
    cursor = isObject(result) ? result["nextCursor"] : undefined;
    if (typeof cursor !== "string") break;
  }
  if (bytesOf(described) > LIMITS.assistantListBytes)
    throw WorkflowError.of(
      "configuration",
      `the allowed tools' descriptions and schemas have more than ${LIMITS.assistantListBytes} bytes`,
    );
  return described;
}

/** As they are pinned. */
const bytesOf = (described: DescribedTools): number =>
  [...described.values()].reduce((sum, tool) => sum + (tool ? Buffer.byteLength(JSON.stringify(tool)) : 0), 0);

/** The annotations that say what a call may do. */
const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

function descriptionOf({ description, inputSchema, annotations }: JsonObject): ToolDescription {
  const text = typeof description === "string" ? shownText(description, LIMITS.descriptionCharacters) : "";
  const schema = isObject(inputSchema) ? inputSchema : {};
  const said = isObject(annotations) ? annotations : {};
  const hints = HINTS.flatMap((name) => (typeof said[name] === "boolean" ? [[name, said[name]]] : []));
  return { description: text, inputSchema: { type: "object", ...schema }, hints: Object.fromEntries(hints) };
}

/** The tools with the descriptions that the run's version has pinned: a model reads no other. Throws `configuration`. */
async function pinned({ execution }: Frame, server: string, described: DescribedTools): Promise<Listed[]> {
  const { program, shared, journal } = execution;
  const pins = await shared.surroundings.pinTools(journal.head, server, described);
  const missing = [...described].filter(([, tool]) => !tool).map(([name]) => name);
  if (missing.length > 0)
    throw WorkflowError.of("configuration", `the server has no tool ${missing.map(quote).join(", ")}`);
  return [...pins].map(([name, { pinned: pin, isChanged }]) => {
    const { description, inputSchema } = pin ?? { description: NOT_ACCEPTED, inputSchema: { type: "object" } };
    const refused = isChanged && refusalOf(name, pin, described.get(name)!, program.definition);
    return { name, description, inputSchema, ...(refused !== false && { refused }) };
  });
}

const NOT_ACCEPTED = "This tool is new and was not accepted yet: calls of it fail.";

/** Without a word of the server's: a model reads it. */
function refusalOf(
  name: string,
  pin: ToolDescription | undefined,
  described: ToolDescription,
  { document }: JsonObject,
): string {
  const { namespace, name: handle } = document as { namespace: string; name: string };
  const parts = pin
    ? Object.entries(WORDS).flatMap(([key, word]) => {
        const part = key as keyof ToolDescription;
        return isDeepStrictEqual(pin[part], described[part]) ? [] : [word];
      })
    : [];
  const what = pin ? `has another ${parts.join(" and another ")} than` : "was not there";
  return (
    `nothing was sent: the tool ${name} ${what} when this version of the agent first listed it. ` +
    `Look at the change and accept it, on the agent's page or with \`autograph mcp trust ${namespace}/${handle}\`, or publish a new version`
  );
}

const WORDS: Record<keyof ToolDescription, string> = {
  description: "description",
  inputSchema: "schema",
  hints: "set of hints",
};
