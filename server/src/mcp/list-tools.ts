/** `tools/list`: the tools beside the agents, then each active agent that the caller may start, the newest first. */
import { pageOfAgents } from "../agents/list-agents.ts";
import { badInput } from "../lib/errors.ts";
import { decodeId, encodeId, type AgentId } from "../lib/ids.ts";
import type { Json } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import { readProjects } from "../projects/projects.ts";
import { agentTool } from "./agent-tools.ts";
import { hasScope, type Call, type Mcp } from "./call.ts";
import type { Tool } from "./protocol.ts";
import { runTools } from "./run-tools.ts";

type Page = { tools: Tool[]; nextCursor?: string };

/** `cursor`: the last agent of the page before. Throws BAD_USER_INPUT. */
export async function listTools(mcp: Mcp, call: Call, cursor: Json | undefined): Promise<Page> {
  const after = afterOf(cursor);
  const page = new ToolsPage(after === undefined ? runTools(call) : [], call.charge);
  if (!hasScope(call, "agents:read") || !hasScope(call, "runs:start")) return page.whole();
  const { caller, ending } = call;
  const { items, hasNextPage } = await pageOfAgents(
    mcp.agents,
    caller,
    { first: LIMITS.mcpToolsListed, ...(after !== undefined && { after }) },
    { status: ["active"] },
  );
  const projects = await readProjects(mcp.agents, caller, [...new Set(items.map(({ projectId }) => projectId))]);
  let last: AgentId | undefined;
  for (const agent of items) {
    ending.throwIfOver();
    const project = projects.get(agent.projectId);
    const found = project && (await agentTool(mcp, caller, agent, project.handle));
    if (found && !page.takes(found.tool, found.read)) return page.until(last);
    last = agent.id;
  }
  return hasNextPage ? page.until(last) : page.whole();
}

function afterOf(cursor: Json | undefined): AgentId | undefined {
  if (cursor === undefined) return undefined;
  const id = typeof cursor === "string" ? decodeId("agent", cursor) : undefined;
  if (id !== undefined) return id;
  throw badInput("invalid_cursor", "the cursor is none that tools/list returned");
}

/** Holds tools until there are too many bytes of them and of the definitions that they are read from, which takes longer. */
export class ToolsPage {
  readonly #tools: Tool[];
  readonly #charge: Call["charge"];
  #bytes = 0;

  constructor(first: Tool[], charge: Call["charge"]) {
    this.#tools = first;
    this.#charge = charge;
  }

  /** Whether it was added. The first always is. `read`: the size of its definition. Throws what `charge` does. */
  takes(tool: Tool, read: number): boolean {
    const bytes = Buffer.byteLength(JSON.stringify(tool));
    if (this.#bytes > 0 && this.#bytes + bytes + read > LIMITS.mcpToolsBytes) return false;
    this.#charge(bytes);
    this.#bytes += bytes + read;
    this.#tools.push(tool);
    return true;
  }

  whole(): Page {
    return { tools: this.#tools };
  }

  /** The next page begins after this agent. */
  until(last: AgentId | undefined): Page {
    return last === undefined ? this.whole() : { tools: this.#tools, nextCursor: encodeId("agent", last) };
  }
}
