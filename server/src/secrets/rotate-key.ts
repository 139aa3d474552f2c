/**
 * Seals every value anew under another key. All of it is one transaction: after a crash everything is as before, and a server
 * that runs meanwhile opens values of both keys, as each says which it is sealed with.
 */
import { COMMAND_LINE, SYSTEM } from "../audit/event.ts";
import { record } from "../audit/record.ts";
import type { Clock } from "../lib/clock.ts";
import { OperatorError } from "../lib/errors.ts";
import type { OrganizationId } from "../lib/ids.ts";
import type { Database, Query } from "../storage/database.ts";
import { newKeyId, type Sealer } from "./seal.ts";
import { insertKeyId, lockSealedRows, updateKeyId, updateSealed, type SealedRow } from "./store.ts";

/** 11 kB each at most. */
const ROWS_AT_ONCE = 500;

/** How many it has sealed. Throws OperatorError, with nothing changed, if one does not open. */
export const rotateKey = (database: Database, clock: Clock, sealer: Sealer): Promise<number> =>
  database.transaction(async (query) => {
    const keyId = newKeyId();
    await takeKey(query, keyId);
    const counts = new Map<OrganizationId, number>();
    let last: SealedRow | undefined;
    for (;;) {
      const rows = await lockSealedRows(query, last, ROWS_AT_ONCE);
      if (rows.length === 0) break;
      await updateSealed(query, await Promise.all(rows.map((row) => sealedAnew(sealer, row, keyId))));
      for (const { organizationId } of rows) counts.set(organizationId, (counts.get(organizationId) ?? 0) + 1);
      last = rows.at(-1);
    }
    // In the order of the rows, which is that of the audit's locks.
    for (const [organizationId, secrets] of counts)
      await record(query, { organizationId, actor: SYSTEM, from: COMMAND_LINE }, clock.now(), {
        action: "secrets_key_rotated",
        detail: { secrets },
      });
    return counts.values().reduce((sum, count) => sum + count, 0);
  });

/** Whoever sets a secret from now on waits until this is committed. */
async function takeKey(query: Query, keyId: string): Promise<void> {
  await insertKeyId(query, keyId);
  await updateKeyId(query, keyId);
}

async function sealedAnew(sealer: Sealer, row: SealedRow, keyId: string): Promise<SealedRow> {
  const value = await sealer.open(row.sealed, row);
  if (value === undefined)
    throw new OperatorError(
      `the secret ${row.name} does not open with this installation's key, so nothing was changed: set it again or delete it`,
    );
  return { ...row, sealed: await sealer.seal(value, row, keyId) };
}
