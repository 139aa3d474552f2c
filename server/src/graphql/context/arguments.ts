/** Ids in arguments. A malformed id, an unknown one and one of another organization get the same NOT_FOUND. */
import { readAgents } from "../../agents/list-agents.ts";
import { readAgent } from "../../agents/published.ts";
import { readProjects } from "../../projects/projects.ts";
import { badInput, notFound } from "../../lib/errors.ts";
import { decodeId, type AgentId, type Id, type Kind, type ProjectId, type RunId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Within } from "../../lib/reach.ts";
import { knownRuns } from "../../runs/read/read.ts";
import type { Handles } from "./rooms.ts";

const NAMES = {
  organization: "Organization",
  user: "User",
  project: "Project",
  agent: "Agent",
  agentVersion: "Version",
  run: "Run",
  approval: "Approval",
  trigger: "Trigger",
  firing: "Firing",
  event: "Event",
  apiKey: "API key",
  secret: "Secret",
  modelConnection: "Model connection",
  member: "Member",
  invitation: "Invitation",
  session: "Session",
  auditEvent: "Audit event",
} as const satisfies Partial<Record<Kind, string>>;
type NamedKind = keyof typeof NAMES;

export function idOf<K extends NamedKind>(kind: K, text: string): Id<K> {
  const id = decodeId(kind, text);
  if (id === undefined) throw notFound(NAMES[kind]);
  return id;
}

/** How many items of a list are wanted. */
export function sizeOf(first: number, most: number): number {
  if (first >= 1 && first <= most) return first;
  const message = `must be between 1 and ${most}`;
  throw badInput("invalid_input", `first ${message}`, [{ path: "first", code: "out_of_range", message }]);
}

/** Leaves the key out of an object when the argument was not given. */
export const optionalId = <K extends NamedKind, Name extends string>(
  name: Name,
  kind: K,
  text: string | null | undefined,
): { [Key in Name]?: Id<K> } => (text == null ? {} : ({ [name]: idOf(kind, text) } as { [Key in Name]: Id<K> }));

/** A list of an argument without what it repeats. Throws BAD_USER_INPUT when it is too long. */
export function listOf<Item>(items: readonly Item[], path: string, most: number = LIMITS.argumentItems): Item[] {
  if (items.length <= most) return [...new Set(items)];
  const message = `must have at most ${most} items`;
  throw badInput("invalid_input", `${path} ${message}`, [{ path, code: "too_many", message }]);
}

/** As `optionalId`, of a filter's list. */
export const optionalIds = <K extends NamedKind, Name extends string>(
  name: Name,
  kind: K,
  texts: readonly string[] | null | undefined,
  path: string,
): { [Key in Name]?: Id<K>[] } =>
  texts == null
    ? {}
    : ({ [name]: listOf(texts, `${path}.${name}`).map((text) => idOf(kind, text)) } as { [Key in Name]: Id<K>[] });

/** The value, or NOT_FOUND. */
export function requireFound<Value>(kind: NamedKind, value: Value | undefined): Value {
  if (value === undefined) throw notFound(NAMES[kind]);
  return value;
}

/** The ids in a filter must be reached: an unknown one is NOT_FOUND, as in `agents(projectId)`. */
export async function checkFilter(
  { agents, auth, runs }: Handles,
  within: Within,
  ids: { projectId?: readonly ProjectId[]; agentId?: readonly AgentId[]; runId?: readonly RunId[] },
): Promise<void> {
  if (ids.projectId?.length) requireAll("project", ids.projectId, await readProjects(auth, within, ids.projectId));
  // One is in memory.
  if (ids.agentId?.length === 1) requireFound("agent", await readAgent(agents, within, ids.agentId[0]!));
  else if (ids.agentId?.length) requireAll("agent", ids.agentId, await readAgents(agents, within, ids.agentId));
  if (ids.runId?.length) requireAll("run", ids.runId, await knownRuns(runs, within, ids.runId));
}

const requireAll = <Key>(kind: NamedKind, ids: readonly Key[], known: { has(id: Key): boolean }): void => {
  if (!ids.every((id) => known.has(id))) throw notFound(NAMES[kind]);
};
