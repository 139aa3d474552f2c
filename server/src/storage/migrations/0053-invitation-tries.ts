/** How often somebody gave a wrong password with an invitation: a link is good for some tries. */
import { sql, type Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw("alter table invitations add column tries int not null default 0").execute(db);
}
