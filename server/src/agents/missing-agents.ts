/** The agents that a definition starts, by `run: workflow` or as an assistant's tools, and that are not published. */
import { tasksIn } from "../definition/tasks-in.ts";
import type { Workflow } from "../definition/profile/workflow.ts";
import { isLabel } from "../definition/schema/schema-words.ts";
import { valueAt, type Finding, type Path } from "../definition/text/problem.ts";
import type { JsonObject } from "../lib/json/json.ts";
import { reachesAgent, type Within } from "../lib/reach.ts";
import type { Agents } from "./agents.ts";

/** `path`: of what names it; `key`: of its handle there. `version` undefined: the published one. */
export type NamedAgent = {
  path: Path;
  key: "name" | "handle";
  project: string;
  handle: string;
  version: string | undefined;
};

/**
 * Warnings, because two agents may start each other, and one of them is published first. What the caller does not reach is missing in
 * the same words.
 */
export async function missingAgents(agents: Agents, within: Within, workflow: Workflow): Promise<Finding[]> {
  const { namespace, name } = workflow.document;
  // The agent itself is there when it runs.
  const named = [...agentsIn(workflow)].filter(({ project, handle }) => project !== namespace || handle !== name);
  if (named.length === 0) return [];
  const haveVersion = await readNamed(agents, within, named);
  return named.flatMap(({ path, key, project, handle, version }, index): Finding[] => {
    const hasVersion = haveVersion[index];
    if (hasVersion === true) return [];
    const agent = `${project}/${handle}`;
    return hasVersion === false
      ? [warning([...path, "version"], `the agent ${agent} has no version ${version}; without it this fails`)]
      : [warning([...path, key], `there is no published agent ${agent} that you can see; without one this fails`)];
  });
}

const warning = (path: Path, message: string): Finding => ({ path, at: "value", message, severity: "warning" });

function* agentsIn(workflow: Workflow): Generator<NamedAgent> {
  for (const { kind, task, path } of tasksIn(workflow)) {
    const child = kind === "run" && childOf(task, path);
    if (child) yield child;
    if (kind === "assistant") yield* toolsOf(task, path, workflow.document.namespace);
  }
}

/** The agent of `run: workflow`; undefined if data decides which. */
export function childOf(task: JsonObject, path: Path): NamedAgent | undefined {
  const at = ["run", "workflow"];
  const { namespace, name, version } = valueAt(task, at) as Record<"namespace" | "name" | "version", string>;
  if (!isLabel(namespace) || !isLabel(name)) return undefined;
  return {
    path: [...path, ...at],
    key: "name",
    project: namespace,
    handle: name,
    version: version === "latest" ? undefined : version,
  };
}

function* toolsOf(task: JsonObject, path: Path, own: string): Generator<NamedAgent> {
  const tools = (valueAt(task, ["with", "tools"]) ?? []) as { agent?: { namespace?: string; handle: string } }[];
  for (const [index, { agent }] of tools.entries()) {
    if (!agent) continue;
    const { namespace: project = own, handle } = agent;
    yield { path: [...path, "with", "tools", index, "agent"], key: "handle", project, handle, version: undefined };
  }
}

/** For each, in order: whether it has the version; undefined if it is not there. */
async function readNamed(
  { database }: Agents,
  within: Within,
  named: readonly NamedAgent[],
): Promise<(boolean | undefined)[]> {
  const { organizationId } = within;
  const rows = await database.query(
    `select named.place, a.id, a.project_id, named.version is null or exists (
         select from agent_versions v where v.organization_id = $1 and v.agent_id = a.id and v.version = named.version) as has_version
       from unnest($2::text[], $3::text[], $4::text[]) with ordinality as named (project, handle, version, place)
       join projects p on p.organization_id = $1 and p.handle = named.project
       join agents a on a.organization_id = $1 and a.project_id = p.id and a.handle = named.handle
      where a.published_version is not null and a.status <> 'archived'`,
    [
      organizationId,
      named.map(({ project }) => project),
      named.map(({ handle }) => handle),
      named.map(({ version }) => version ?? null),
    ],
    organizationId,
  );
  const found: (boolean | undefined)[] = named.map(() => undefined);
  for (const row of rows)
    if (reachesAgent(within, { id: row["id"], projectId: row["project_id"] }))
      found[(row["place"] as number) - 1] = row["has_version"];
  return found;
}
