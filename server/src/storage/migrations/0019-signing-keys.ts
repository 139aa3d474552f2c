/**
 * What access tokens are signed with: a key is derived from the installation's secret and an id (decision 0023), so there is
 * no private key here. The first one signs from the beginning.
 */
import { sql, type Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table signing_keys (
  id uuid primary key,
  signs_from timestamptz not null
)`.execute(db);
  await sql`insert into signing_keys (id, signs_from) values (gen_random_uuid(), 'epoch')`.execute(db);
}
