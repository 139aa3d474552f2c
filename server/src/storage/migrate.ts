/** Brings the schema up to date. Safe from many processes at once: each waits for the one before at a lock. */
import { OperatorError } from "../lib/errors.ts";
import type { Database, Query } from "./database.ts";
import { start } from "./migrations/0001-start.ts";
import { models } from "./migrations/0002-models.ts";
import { modelCalls } from "./migrations/0003-model-calls.ts";
import { modelBudgets } from "./migrations/0004-model-budgets.ts";
import { longAnswers } from "./migrations/0005-long-answers.ts";
import { pinnedTools } from "./migrations/0006-pinned-tools.ts";
import { modelKeyHeaders } from "./migrations/0007-model-key-headers.ts";
import { refreshTokens } from "./migrations/0008-refresh-tokens.ts";
import { mails } from "./migrations/0009-mails.ts";
import { pinnedOperations } from "./migrations/0010-pinned-operations.ts";
import { listening } from "./migrations/0011-listening.ts";
import { assignedApprovals } from "./migrations/0012-assigned-approvals.ts";
import { passwordResets } from "./migrations/0013-password-resets.ts";
import { reassignedApprovals } from "./migrations/0014-reassigned-approvals.ts";
import { signals } from "./migrations/0015-signals.ts";
import { mailedApprovals } from "./migrations/0016-mailed-approvals.ts";
import { failureMails } from "./migrations/0017-failure-mails.ts";

/** SQL texts by name, in order. A name is never changed, and a migration never edited once it is on main. */
export const MIGRATIONS: Record<string, string> = {
  "0001-start": start,
  "0002-models": models,
  "0003-model-calls": modelCalls,
  "0004-model-budgets": modelBudgets,
  "0005-long-answers": longAnswers,
  "0006-pinned-tools": pinnedTools,
  "0007-model-key-headers": modelKeyHeaders,
  "0008-refresh-tokens": refreshTokens,
  "0009-mails": mails,
  "0010-pinned-operations": pinnedOperations,
  "0011-listening": listening,
  "0012-assigned-approvals": assignedApprovals,
  "0013-password-resets": passwordResets,
  "0014-reassigned-approvals": reassignedApprovals,
  "0015-signals": signals,
  "0016-mailed-approvals": mailedApprovals,
  "0017-failure-mails": failureMails,
};

const LOCK = "hashtextextended('autograph migrations', 0)";

/**
 * Names of the migrations applied to this database, in order. Throws OperatorError if the database is of a version before the
 * first release.
 */
export const migrationsOf = (database: Database): Promise<string[]> => readNames((text) => database.query(text));

async function readNames(query: Query): Promise<string[]> {
  const [tables] = await query(
    `select to_regclass('autograph_migrations') as names,
            to_regclass('kysely_migration') is not null and to_regclass('agent_versions') is not null as is_former`,
  );
  if (tables!.names !== null) {
    const rows = await query("select name from autograph_migrations order by name");
    return rows.map((row) => row.name as string);
  }
  if (!tables!.is_former) return [];
  throw new OperatorError(
    "This data is of a version before the first release, which no release can read: start with a new data folder (DATA_DIR) or an empty database (DATABASE_URL)",
  );
}

/**
 * Returns the names of the applied migrations; all are applied, or none. Throws OperatorError if the schema is newer than the
 * program.
 */
export async function migrate(database: Database, migrations = MIGRATIONS): Promise<string[]> {
  if (missingOf(await migrationsOf(database), migrations).length === 0) return [];
  // A connection of its own: the pool's statement_timeout must not cut a long migration.
  const client = await database.dedicated();
  try {
    // Whatever the role's default: after the lock, what the process before committed must be seen.
    await client.query(`begin isolation level read committed; select pg_advisory_xact_lock(${LOCK})`);
    const missing = missingOf(await readNames(async (text) => (await client.query(text)).rows), migrations);
    await client.query("create table if not exists autograph_migrations (name text primary key)");
    for (const name of missing) {
      await client.query(migrations[name]!);
      await client.query("insert into autograph_migrations (name) values ($1)", [name]);
    }
    await client.query("commit");
    return missing;
  } finally {
    // Without the commit, all of it is rolled back.
    await client.end();
  }
}

/** Throws OperatorError if something else was applied than the first of these. */
function missingOf(done: string[], migrations: Record<string, string>): string[] {
  const known = Object.keys(migrations);
  const unknown = done.findLast((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new OperatorError(
      `The database's schema (${unknown}) is newer than this program's (${known.at(-1)}): start the newer Autograph, or restore a backup`,
    );
  const skipped = known.slice(0, done.length).find((name) => !done.includes(name));
  if (skipped !== undefined)
    throw new OperatorError(`The database's schema lacks ${skipped}, but has ${done.at(-1)}: restore a backup`);
  return known.slice(done.length);
}
