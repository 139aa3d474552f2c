/** A tool of an MCP server, as a version of an agent relies on it. */
import { hash } from "node:crypto";
import { canonicalJson } from "../../audit/canonical.ts";
import type { Actor } from "../../lib/actor.ts";
import type { AgentId, OrganizationId } from "../../lib/ids.ts";
import type { ToolDescription } from "../../lib/mcp/tool-description.ts";

/** The server: its address, or a command's words as JSON. */
export type ToolServer = { organizationId: OrganizationId; agentId: AgentId; version: string; server: string };

export type PinnedTool = {
  id: string;
  version: string;
  /** Cut. */
  server: string;
  name: string;
  /** Null: the server's first list did not have the tool. */
  pinned: ToolText | null;
  pinnedAt: Date;
  /** Null: nobody; the first list is pinned as it is. */
  trustedBy: Actor | null;
  change: ToolChange | null;
};

/** `hash`: names the change, and with it what is accepted. */
export type ToolChange = { hash: string; described: ToolText; seenAt: Date };

/** A ToolDescription that is read when somebody asks for it, by its hash: never another one that was seen meanwhile. `id`: the tool's. */
export type ToolText = { id: string; hash: string; bytes: number };

/** The server counts as well: what is accepted for one holds for no other. */
export const hashOfTool = (
  { version, server }: Pick<ToolServer, "version" | "server">,
  name: string,
  described: ToolDescription | undefined,
): string => hash("sha256", canonicalJson([version, server, name, described ?? null]), "hex");

export const hashOfServer = (server: string): string => hash("sha256", server, "hex");
