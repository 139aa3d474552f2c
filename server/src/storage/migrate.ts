/** Brings the schema up to date. Safe from many processes at once: Kysely's migrator holds an advisory lock meanwhile. */
import { Kysely, PostgresDialect } from "kysely";
import { Migrator, type Migration } from "kysely/migration";
import { OperatorError } from "../lib/errors.ts";
import type { Database } from "./database.ts";
import * as start from "./migrations/0001-start.ts";
import * as afterCrashes from "./migrations/0002-after-crashes.ts";
import * as turns from "./migrations/0003-turns.ts";
import * as knownAddresses from "./migrations/0004-known-addresses.ts";
import * as heldBytes from "./migrations/0005-held-bytes.ts";
import * as admission from "./migrations/0006-admission.ts";
import * as mended from "./migrations/0007-mended.ts";
import * as drafts from "./migrations/0008-drafts.ts";
import * as parentSteps from "./migrations/0009-parent-steps.ts";
import * as responses from "./migrations/0010-responses.ts";
import * as actors from "./migrations/0011-actors.ts";
import * as approvalLists from "./migrations/0012-approval-lists.ts";
import * as rates from "./migrations/0013-rates.ts";
import * as members from "./migrations/0014-members.ts";
import * as secrets from "./migrations/0015-secrets.ts";
import * as narrowedKeys from "./migrations/0016-narrowed-keys.ts";
import * as sessions from "./migrations/0017-sessions.ts";
import * as audit from "./migrations/0018-audit.ts";
import * as signingKeys from "./migrations/0019-signing-keys.ts";

/** In order; a name is never changed and a migration never edited once released. */
export const MIGRATIONS: Record<string, Migration> = {
  "0001-start": start,
  "0002-after-crashes": afterCrashes,
  "0003-turns": turns,
  "0004-known-addresses": knownAddresses,
  "0005-held-bytes": heldBytes,
  "0006-admission": admission,
  "0007-mended": mended,
  "0008-drafts": drafts,
  "0009-parent-steps": parentSteps,
  "0010-responses": responses,
  "0011-actors": actors,
  "0012-approval-lists": approvalLists,
  "0013-rates": rates,
  "0014-members": members,
  "0015-secrets": secrets,
  "0016-narrowed-keys": narrowedKeys,
  "0017-sessions": sessions,
  "0018-audit": audit,
  "0019-signing-keys": signingKeys,
};

/** Names of the migrations applied to this database, in order. */
export async function migrationsOf(database: Database): Promise<string[]> {
  const [table] = await database.query("select to_regclass('kysely_migration') as name");
  if (table?.name === null) return [];
  const rows = await database.query("select name from kysely_migration order by name");
  return rows.map((row) => row.name as string);
}

/** Returns the names of the applied migrations. Throws OperatorError if the schema is newer than the program. */
export async function migrate(database: Database, migrations = MIGRATIONS): Promise<string[]> {
  const known = Object.keys(migrations);
  const done = await migrationsOf(database);
  refuseNewer(done, known);
  if (done.length === known.length) return [];
  const client = await database.dedicated();
  try {
    // One connection for all: the lock belongs to a session, and the pool's statement_timeout must not cut a long migration.
    const pool = {
      connect: async () => Object.assign(client, { release: () => {} }),
      end: async () => {},
      options: {},
    };
    const kysely = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
    const { error, results } = await new Migrator({
      db: kysely,
      provider: { getMigrations: async () => migrations },
    }).migrateToLatest();
    if (error !== undefined) {
      refuseNewer(await migrationsOf(database), known);
      throw error;
    }
    return (results ?? []).map((result) => result.migrationName);
  } finally {
    await client.end();
  }
}

function refuseNewer(done: string[], known: string[]): void {
  const unknown = done.findLast((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new OperatorError(
    `The database's schema (${unknown}) is newer than this program's (${known.at(-1)}): start the newer Autograph, or restore a backup`,
  );
}
