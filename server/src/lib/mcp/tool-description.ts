/** How an MCP server describes a tool, as far as a model or a person relies on it. */
import type { JsonObject } from "../json/json.ts";

export type ToolDescription = {
  description: string;
  inputSchema: JsonObject;
  /** Its annotations that say what a call may do: `readOnlyHint`, `destructiveHint`, … */
  hints: JsonObject;
};

/** The tools of one server that a definition allows. Undefined: the server's list does not have the tool. */
export type DescribedTools = ReadonlyMap<string, ToolDescription | undefined>;

/** `isChanged`: the server describes it in another way now. `pinned` undefined: it was not there when the list was pinned. */
export type PinnedDescription = { pinned: ToolDescription | undefined; isChanged: boolean };
