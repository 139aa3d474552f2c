/** Pins how an MCP server describes its tools: the first list of an agent's version holds until a person accepts another one. */
import { conflict } from "../../lib/errors.ts";
import { newId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { DescribedTools, PinnedDescription } from "../../lib/mcp/tool-description.ts";
import type { Agents } from "../agents.ts";
import { insertPins, lockPins, noteSeen, readPins, type Pin, type SeenTool } from "./pin-store.ts";
import { hashOfTool, type ToolServer } from "./pinned-tool.ts";

/**
 * Compares a server's list with what is pinned, and pins what is not. It is committed before a model reads any of it. A list with
 * none of the tools pins nothing: the server is not ready. Throws CONFLICT if a version has as many pinned tools as it may, or if
 * those of the list are too large together, as each may have been accepted at another time.
 */
export async function pinTools(
  { database, clock }: Pick<Agents, "database" | "clock">,
  of: ToolServer,
  described: DescribedTools,
): Promise<Map<string, PinnedDescription>> {
  const { organizationId } = of;
  const tools = [...described].map(([name, tool]) => ({
    id: newId(),
    name,
    described: tool,
    hash: hashOfTool(of, name, tool),
  }));
  if (tools.every((tool) => tool.described === undefined)) return new Map();
  const names = [...described.keys()];
  let pins = await pinsOf(database.query, of, names);
  if (pins.size < names.length)
    pins = await database.transaction(async (query) => {
      const count = await lockPins(query, of);
      // Another process may have pinned them meanwhile.
      const fresh = names.length - (await pinsOf(query, of, names)).size;
      if (count + fresh > LIMITS.pinnedToolsPerVersion) throw tooMany();
      await insertPins(query, of, tools, clock.now());
      return pinsOf(query, of, names);
    }, organizationId);
  const seen = tools.filter((tool) => isNews(tool, pins.get(tool.name)!));
  if (seen.length > 0) {
    const noted = seen.map((tool) => ({ ...tool, id: pins.get(tool.name)!.id }));
    await noteSeen(database.query, organizationId, noted, clock.now());
  }
  return new Map(
    tools.map(({ name, hash }) => {
      const { pinned, pinnedHash } = pins.get(name)!;
      return [name, { pinned, isChanged: hash !== pinnedHash }];
    }),
  );
}

async function pinsOf(...asked: Parameters<typeof readPins>): Promise<Map<string, Pin>> {
  const pins = await readPins(...asked);
  if (pins) return pins;
  throw conflict(
    "limit_reached",
    `the allowed tools' descriptions and schemas that are pinned have more than ${LIMITS.assistantListBytes} bytes: allow fewer, or publish a new version`,
  );
}

/** A tool that is gone is no change: the run says so itself. */
const isNews = ({ described, hash }: SeenTool, { pinnedHash, changedHash }: Pin): boolean =>
  described !== undefined && (hash === pinnedHash ? null : hash) !== changedHash;

const tooMany = (): Error =>
  conflict(
    "limit_reached",
    `the tools of MCP servers are pinned for each version and address, ${LIMITS.pinnedToolsPerVersion} at most, and this version has them: publish a new version, or keep what differs from run to run out of the address`,
  );
