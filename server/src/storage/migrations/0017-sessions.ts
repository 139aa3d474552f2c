/**
 * Where a session was opened, for the list of a user's sessions; and the pauses of failed sign-ins, for all processes of one
 * database. These are worth nothing after a crash: unlogged, a sign-in waits for no disk.
 */
import { sql, type Kysely } from "kysely";

const STATEMENTS = [
  "alter table sessions add column address text, add column user_agent text",
  `create unlogged table sign_in_pauses (
  mark text primary key,
  kind text not null check (kind in ('pair', 'account', 'address')),
  level float8 not null,
  until bigint not null,
  is_counted boolean not null
) with (fillfactor = 50)`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
