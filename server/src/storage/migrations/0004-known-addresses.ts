/** From where users have signed in before (`auth/sign-in/known-addresses.ts`); at most 20 rows for each user. */
import { sql, type Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table known_addresses (
    user_id uuid not null references users (id) on delete cascade,
    mark bytea not null,
    seen_at timestamptz not null,
    primary key (user_id, mark)
  )`.execute(db);
  await sql`create index known_addresses_seen on known_addresses (seen_at)`.execute(db);
}
