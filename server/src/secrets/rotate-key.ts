/**
 * Seals every value anew under another key. All of it is one transaction: after a crash everything is as before, and a server
 * that runs meanwhile opens values of both keys, as each says which it is sealed with.
 */
import { OperatorError } from "../lib/errors.ts";
import type { Database, Query } from "../storage/database.ts";
import { newKeyId, type Sealer } from "./seal.ts";
import { insertKeyId, lockSealedRows, updateKeyId, updateSealed, type SealedRow } from "./store.ts";

/** 11 kB each at most. */
const ROWS_AT_ONCE = 500;

/** How many it has sealed. Throws OperatorError, with nothing changed, if one does not open. */
export const rotateKey = (database: Database, sealer: Sealer): Promise<number> =>
  database.transaction(async (query) => {
    const keyId = newKeyId();
    await takeKey(query, keyId);
    let count = 0;
    let last: SealedRow | undefined;
    for (;;) {
      const rows = await lockSealedRows(query, last, ROWS_AT_ONCE);
      if (rows.length === 0) return count;
      await updateSealed(query, await Promise.all(rows.map((row) => sealedAnew(sealer, row, keyId))));
      count += rows.length;
      last = rows.at(-1);
    }
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
