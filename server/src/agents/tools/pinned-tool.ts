/** A tool of an MCP server, as a version of an agent relies on it. */
import { hash } from "node:crypto";
import { canonicalJson } from "../../audit/canonical.ts";
import type { Actor } from "../../lib/actor.ts";
import type { AgentId, OrganizationId } from "../../lib/ids.ts";
import type { Payload } from "../../lib/json/json-text.ts";
import type { ToolDescription } from "../../lib/mcp/tool-description.ts";

/** The server: its address, or a command's words as JSON. */
export type ToolServer = { organizationId: OrganizationId; agentId: AgentId; version: string; server: string };

export type PinnedTool = {
  id: string;
  version: string;
  /** Cut. */
  server: string;
  name: string;
  /** A ToolDescription. Null: the server's first list did not have the tool. */
  pinned: Payload | null;
  pinnedAt: Date;
  /** Null: nobody; the first list is pinned as it is. */
  trustedBy: Actor | null;
  change: ToolChange | null;
};

/** `hash`: names the change, and with it what is accepted. `described`: a ToolDescription. */
export type ToolChange = { hash: string; described: Payload; seenAt: Date };

/** The server counts as well: what is accepted for one holds for no other. */
export const hashOfTool = (
  { version, server }: Pick<ToolServer, "version" | "server">,
  name: string,
  described: ToolDescription | undefined,
): string => hash("sha256", canonicalJson([version, server, name, described ?? null]), "hex");

export const hashOfServer = (server: string): string => hash("sha256", server, "hex");
