/** Which agents use which secrets: what the `use.secrets` of their published versions and the signatures of their webhooks name. */
import type { OrganizationId, ProjectId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Agent } from "./agent.ts";
import type { Agents } from "./agents.ts";
import { agentOf, COLUMNS } from "./store.ts";

/** The columns that name a secret besides its id. */
export type SecretKey = { projectId: ProjectId; name: string };

/** For each key, by name, `LIMITS.secretUsersListed` at most. */
export async function readSecretUsers(
  { database }: Pick<Agents, "database">,
  organizationId: OrganizationId,
  keys: readonly SecretKey[],
): Promise<Agent[][]> {
  const rows = await database.query(
    `select asked.place, a.* from unnest($2::uuid[], $3::text[]) with ordinality as asked (project_id, secret, place)
      cross join lateral (
        select ${COLUMNS} from agents
         where organization_id = $1 and project_id = asked.project_id and (exists (
             select from agent_versions v
              where v.organization_id = $1 and v.agent_id = agents.id and v.version = agents.published_version
                and asked.secret = any(v.secrets))
           or id in (
             select t.agent_id from triggers t
              where t.organization_id = $1 and t.project_id = asked.project_id and t.deleted_at is null
                and t.policy #>> '{signature,secret}' = asked.secret))
         order by name, id limit $4) a`,
    [organizationId, keys.map(({ projectId }) => projectId), keys.map(({ name }) => name), LIMITS.secretUsersListed],
    organizationId,
  );
  const users: Agent[][] = keys.map(() => []);
  for (const row of rows) users[(row["place"] as number) - 1]!.push(agentOf(row));
  return users;
}
