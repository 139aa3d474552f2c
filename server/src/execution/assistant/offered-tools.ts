/** The tools that an assistant's model is offered: those of the definition, agents with their forms, and what MCP servers list. */
import type { BodyOf } from "../../definition/program.ts";
import { compileSchema, type SchemaCheck } from "../../definition/schema/schema-check.ts";
import type { AssistantTool } from "../../definition/tasks/assistant.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import type { Tool } from "../../llm/call-model.ts";
import type { Frame } from "../frame.ts";
import type { Listed } from "./list-tools.ts";

export type OfferedTool = Tool & {
  written: AssistantTool;
  /** The server's name of the tool. */
  remote?: string;
  /** A server checks the arguments of its tools itself: its schema may cost anything to follow. */
  check?: SchemaCheck;
  /** Why no call of it is made: its server describes it otherwise than when it was pinned. */
  refused?: string;
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
        const { description, inputSchema, refused } = listed.find((one) => one.name === remote)!;
        const tool = { name, description, parameters: inputSchema, written, remote };
        offered.set(name, refused === undefined ? tool : { ...tool, refused });
      }
    }
  }
  return offered;
}
