/** Ids in arguments: what is malformed, unknown or of another organization is the same NOT_FOUND. */
import { readAgent } from "../agents/published.ts";
import { readProject } from "../auth/projects.ts";
import { notFound } from "../lib/errors.ts";
import {
  decodeId,
  type AgentId,
  type Id,
  type Kind,
  type OrganizationId,
  type ProjectId,
  type RunId,
} from "../lib/ids.ts";
import { readRun } from "../runs/read.ts";
import type { Handles } from "./rooms.ts";

const NAMES = {
  organization: "Organization",
  user: "User",
  project: "Project",
  agent: "Agent",
  run: "Run",
  approval: "Approval",
  apiKey: "API key",
} as const satisfies Partial<Record<Kind, string>>;
export type NamedKind = keyof typeof NAMES;

export function idOf<K extends NamedKind>(kind: K, text: string): Id<K> {
  const id = decodeId(kind, text);
  if (id === undefined) throw notFound(NAMES[kind]);
  return id;
}

/** Leaves the key out of an object when the argument was not given. */
export const optionalId = <K extends NamedKind, Name extends string>(
  name: Name,
  kind: K,
  text: string | null | undefined,
): { [Key in Name]?: Id<K> } => (text == null ? {} : ({ [name]: idOf(kind, text) } as { [Key in Name]: Id<K> }));

/** The value, or NOT_FOUND. */
export function found<Value>(kind: NamedKind, value: Value | undefined): Value {
  if (value === undefined) throw notFound(NAMES[kind]);
  return value;
}

/** A filter's own ids must be the organization's: an unknown one is NOT_FOUND, as it is for `agents(projectId)`. */
export async function checkFilter(
  { agents, auth, runs }: Handles,
  organizationId: OrganizationId,
  ids: { projectId?: ProjectId; agentId?: AgentId; runId?: RunId },
): Promise<void> {
  if (ids.projectId) found("project", await readProject(auth, organizationId, ids.projectId));
  if (ids.agentId) found("agent", await readAgent(agents, organizationId, ids.agentId));
  if (ids.runId) found("run", await readRun(runs, organizationId, ids.runId));
}
