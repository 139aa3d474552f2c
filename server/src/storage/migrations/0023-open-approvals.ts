/** Open approvals of the whole database, counted for `/metrics` (`runs/read/count-open-approvals.ts`): closed ones may be millions. */
import { sql, type Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw("create index approvals_waiting on approvals (id) where status = 'open'").execute(db);
}
