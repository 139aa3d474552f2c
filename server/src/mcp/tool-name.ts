/** The names of tools: an agent's is `<project>_<handle>`. */
import { createHash } from "node:crypto";
import { LIMITS } from "../lib/limits.ts";

/** The tools beside the agents. A project `get` with an agent `run` must not hide one. */
export const RUN_TOOLS = [
  "get_run",
  "cancel_run",
  "signal_run",
  "list_approvals",
  "decide_approval",
  "reassign_approval",
] as const;
export type RunTool = (typeof RUN_TOOLS)[number];

export const isRunTool = (name: string): name is RunTool => RUN_TOOLS.some((tool) => tool === name);

/** No handle has an underscore, so two of them stand in no name that was not cut. */
const CUT_MARK = "__";
/** Nobody finds a second name to one of these. */
const HASH_CHARACTERS = 16;
const CUT_CHARACTERS = LIMITS.mcpToolNameCharacters - CUT_MARK.length - HASH_CHARACTERS;

export function toolNameOf(project: string, handle: string): string {
  const name = `${project}_${handle}`;
  if (name.length <= LIMITS.mcpToolNameCharacters && !isRunTool(name)) return name;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, HASH_CHARACTERS);
  return `${name.slice(0, CUT_CHARACTERS)}${CUT_MARK}${hash}`;
}

/** An agent as a tool's name tells it: by its handles, or by the beginning and the hash of a name that was cut. */
export type NamedAgent = { project: string; handle: string } | { beginning: string; hash: string };

const HANDLE = /^[a-z0-9-]+$/;
const BEGINNING = /^[a-z0-9_-]+$/;
const HASH = /^[0-9a-f]{16}$/;

/** Undefined if no agent can have the name. */
export function agentNamedBy(tool: string): NamedAgent | undefined {
  if (tool.length > LIMITS.mcpToolNameCharacters || isRunTool(tool)) return undefined;
  // The beginning may end with an underscore.
  const cut = tool.lastIndexOf(CUT_MARK);
  if (cut > 0) {
    const [beginning, hash] = [tool.slice(0, cut), tool.slice(cut + CUT_MARK.length)];
    // A shorter beginning would be that of many.
    const isCut = cut === CUT_CHARACTERS || isRunTool(beginning);
    return isCut && BEGINNING.test(beginning) && HASH.test(hash) ? { beginning, hash } : undefined;
  }
  const [project = "", handle = "", more] = tool.split("_");
  return more === undefined && HANDLE.test(project) && HANDLE.test(handle) ? { project, handle } : undefined;
}
