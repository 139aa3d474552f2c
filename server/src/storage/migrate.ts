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
import * as leftSessions from "./migrations/0020-left-sessions.ts";
import * as formerApiKeys from "./migrations/0021-former-api-keys.ts";
import * as triggers from "./migrations/0022-triggers.ts";
import * as openApprovals from "./migrations/0023-open-approvals.ts";
import * as dueTriggers from "./migrations/0024-due-triggers.ts";
import * as overlaps from "./migrations/0025-overlaps.ts";
import * as events from "./migrations/0026-events.ts";
import * as definedTriggers from "./migrations/0027-defined-triggers.ts";
import * as queuedFirings from "./migrations/0028-queued-firings.ts";
import * as rareOutcomes from "./migrations/0029-rare-outcomes.ts";
import * as untoldEvents from "./migrations/0030-untold-events.ts";
import * as tokenPlaces from "./migrations/0031-token-places.ts";
import * as eventRoots from "./migrations/0032-event-roots.ts";
import * as eventLists from "./migrations/0033-event-lists.ts";
import * as queuedRuns from "./migrations/0034-queued-runs.ts";
import * as runDrafts from "./migrations/0035-run-drafts.ts";
import * as draftTexts from "./migrations/0036-draft-texts.ts";
import * as changedTriggers from "./migrations/0037-changed-triggers.ts";
import * as signatureSecrets from "./migrations/0039-signature-secrets.ts";
import * as modelTokens from "./migrations/0041-model-tokens.ts";
import * as rootNumbers from "./migrations/0047-root-numbers.ts";
import * as callParts from "./migrations/0050-call-parts.ts";
import * as invitationTries from "./migrations/0053-invitation-tries.ts";
import * as rowTypes from "./migrations/0054-row-types.ts";

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
  "0020-left-sessions": leftSessions,
  "0021-former-api-keys": formerApiKeys,
  "0022-triggers": triggers,
  "0023-open-approvals": openApprovals,
  "0024-due-triggers": dueTriggers,
  "0025-overlaps": overlaps,
  "0026-events": events,
  "0027-defined-triggers": definedTriggers,
  "0028-queued-firings": queuedFirings,
  "0029-rare-outcomes": rareOutcomes,
  "0030-untold-events": untoldEvents,
  "0031-token-places": tokenPlaces,
  "0032-event-roots": eventRoots,
  "0033-event-lists": eventLists,
  "0034-queued-runs": queuedRuns,
  "0035-run-drafts": runDrafts,
  "0036-draft-texts": draftTexts,
  "0037-changed-triggers": changedTriggers,
  "0039-signature-secrets": signatureSecrets,
  "0041-model-tokens": modelTokens,
  "0047-root-numbers": rootNumbers,
  "0050-call-parts": callParts,
  "0053-invitation-tries": invitationTries,
  "0054-row-types": rowTypes,
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
