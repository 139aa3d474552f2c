/** The tools that an assistant's model is offered: those of the definition, agents with their forms, and what MCP servers list. */
import type { BodyOf } from "../../definition/program.ts";
import { compileSchema, type SchemaCheck } from "../../definition/schema/schema-check.ts";
import type { AssistantTool } from "../../definition/tasks/assistant.ts";
import { quote } from "../../definition/text/problem.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { shownText } from "../../lib/text.ts";
import type { Tool } from "../../llm/call-model.ts";
import { performEffect } from "../effect.ts";
import type { Frame } from "../frame.ts";
import type { OwnStep } from "../steps.ts";
import type { McpCall } from "../calls/mcp/mcp-call.ts";
import { askServer, serverRequest } from "./ask-server.ts";

export type OfferedTool = Tool & {
  written: AssistantTool;
  /** The server's name of the tool. */
  remote?: string;
  /** A server checks the arguments of its tools itself: its schema may cost anything to follow. */
  check?: SchemaCheck;
};

/** Agents' forms, as they were when the assistant began. Throws `configuration`. */
export async function agentForms({ execution }: Frame, { tools }: BodyOf<"assistant">): Promise<Record<string, Tool>> {
  const { program, shared, journal } = execution;
  const forms: Record<string, Tool> = {};
  for (const tool of tools) {
    if (tool.is !== "agent") continue;
    const namespace = tool.namespace ?? namespaceOf(program.definition);
    const form = await shared.surroundings.readForm(journal.head.organizationId, namespace, tool.handle);
    if (!form)
      throw WorkflowError.of("configuration", `there is no published agent ${namespace}/${tool.handle} for the tool`);
    const description = tool.description ?? form.description;
    forms[tool.name] = { name: tool.name, description, parameters: form.parameters };
  }
  return forms;
}

export const namespaceOf = (definition: JsonObject): string =>
  (definition["document"] as { namespace: string }).namespace;

/** Throws WorkflowError if a server does not list its tools. */
export async function offeredTools(
  { tools }: BodyOf<"assistant">,
  forms: Record<string, Tool>,
  list: (server: AssistantTool & { is: "mcp" }, index: number) => Promise<Json>,
): Promise<Map<string, OfferedTool>> {
  const offered = new Map<string, OfferedTool>();
  for (const [index, written] of tools.entries()) {
    if (written.is === "http") {
      const { name, description, parameters, check } = written;
      offered.set(name, { name, description, parameters, written, check });
    } else if (written.is === "agent") {
      const form = forms[written.name]!;
      offered.set(written.name, { ...form, written, check: compileSchema(form.parameters) });
    } else {
      const listed = (await list(written, index)) as unknown as Listed[];
      for (const [name, remote] of written.allowed) {
        const { description, inputSchema } = listed.find((one) => one.name === remote)!;
        offered.set(name, { name, description, parameters: inputSchema, written, remote });
      }
    }
  }
  return offered;
}

/** A server's tool as the step keeps it. */
type Listed = { name: string; description: string; inputSchema: JsonObject };

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
        const found = await listedBy(server, (parameters) =>
          askServer(frame, mcp, server, { request: { ...request, parameters }, context }),
        );
        await context.hold(found);
        return found;
      },
    }),
  );
  if (outcome.error) throw outcome.error;
  return outcome.output;
}

async function listedBy(
  { allowed }: AssistantTool & { is: "mcp" },
  ask: (parameters: JsonObject) => Promise<Json>,
): Promise<Json> {
  const missing = new Set(allowed.values());
  const found: Listed[] = [];
  let cursor: Json | undefined;
  for (let page = 0; page < LIMITS.mcpPagesOfTools && missing.size > 0; page++) {
    const result = await ask(cursor === undefined ? {} : { cursor });
    const tools = isObject(result) && Array.isArray(result["tools"]) ? result["tools"] : [];
    for (const tool of tools) {
      if (!isObject(tool) || !missing.delete(tool["name"] as string)) continue;
      found.push(listedTool(tool));
    }
    cursor = isObject(result) ? result["nextCursor"] : undefined;
    if (typeof cursor !== "string") break;
  }
  if (missing.size > 0)
    throw WorkflowError.of("configuration", `the server has no tool ${[...missing].map(quote).join(", ")}`);
  if (Buffer.byteLength(JSON.stringify(found)) > LIMITS.assistantListBytes)
    throw WorkflowError.of(
      "configuration",
      `the allowed tools' descriptions and schemas have more than ${LIMITS.assistantListBytes} bytes`,
    );
  return found;
}

function listedTool({ name, description, inputSchema }: JsonObject): Listed {
  const text = typeof description === "string" ? shownText(description, LIMITS.descriptionCharacters) : "";
  const schema = isObject(inputSchema) ? inputSchema : {};
  return { name: name as string, description: text, inputSchema: { type: "object", ...schema } };
}
