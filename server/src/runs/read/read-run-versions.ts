import type { VersionKey } from "../../agents/version-store.ts";
import type { RunId } from "../../lib/ids.ts";
import { reaches, type Within } from "../../lib/reach.ts";
import { partitionOf } from "../../storage/partitions.ts";
import type { Runs } from "../handle/runs.ts";

/** The agents of runs and their versions, for a loader. Null: there is no such run (any more), or it is not reached. */
export async function readRunVersions(
  { database }: Pick<Runs, "database">,
  within: Within,
  ids: readonly RunId[],
): Promise<Map<RunId, VersionKey | null>> {
  const found = new Map<RunId, VersionKey | null>(ids.map((id) => [id, null]));
  for (const [month, group] of Map.groupBy(ids, (id) => partitionOf(database, id))) {
    const rows = await database.hot(
      `versions_of_runs_${month}`,
      `select id, project_id, agent_id, version from runs_${month} where organization_id = $1 and id = any($2::uuid[])`,
      [within.organizationId, group],
      within.organizationId,
    );
    for (const { id, project_id: projectId, agent_id: agentId, version } of rows)
      if (reaches(within, { projectId, agentId })) found.set(id, { agentId, version });
  }
  return found;
}
