/**
 * A step has the number of the step that encloses it, so that one level of a run is read without the keys of all its steps.
 * A key is the path of the enclosing tasks, each as `name#visit`, with the number of an item, `catch` or `steps` between; a
 * task's name has no `/` and no `#`.
 *
 * An error's `step` is called `stepNumber`; it is always the last of the error's keys.
 */
import { sql, type Kysely } from "kysely";

const STATEMENTS = [
  "alter table steps add column parent_number integer",
  `update steps s set parent_number = p.number from steps p
    where s.key like '%/%' and p.run_id = s.run_id and p.key = regexp_replace(s.key, '/([^#/]+/)?[^/]+$', '')`,
  `update runs set error = regexp_replace(error::text, '"step":(\\d+|null)\\}$', '"stepNumber":\\1}')::json
    where error is not null`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
