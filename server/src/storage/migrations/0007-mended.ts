/**
 * Up to when the relatives of ended runs were told (`runs/sweep-runs.ts`) is not the executor's: another engine has no
 * such row.
 */
import { sql, type Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table mended (singleton boolean primary key default true check (singleton), at timestamptz not null)`.execute(
    db,
  );
  await sql`insert into mended (at) select mended_at from executor where mended_at is not null`.execute(db);
  await sql`alter table executor drop column mended_at`.execute(db);
}
