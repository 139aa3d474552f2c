/**
 * Seals every value again under another key. All of it is one transaction: after a crash everything is as before, and a server
 * that runs meanwhile opens values of both keys, as each says which it is sealed with.
 */
import { COMMAND_LINE, SYSTEM } from "../audit/event.ts";
import { record } from "../audit/record.ts";
import type { Clock } from "../lib/clock.ts";
import { OperatorError } from "../lib/errors.ts";
import type { OrganizationId } from "../lib/ids.ts";
import type { Database, Query } from "../storage/database.ts";
import { newKeyId, type Owner, type Sealer } from "./seal.ts";
import { insertKeyId, lockSealedRows, updateKeyId, updateSealed, type SealedRow } from "./store.ts";

/** Rows of one table whose values are sealed with the key. */
export type Sealed<Row extends SealedValue> = {
  sealer: Sealer;
  /** The next ones in the order of their organizations, locked until the transaction ends. */
  lock(query: Query, after: Row | undefined, first: number): Promise<Row[]>;
  update(query: Query, rows: readonly Row[]): Promise<void>;
  /** The values that do not open, with what to do about them. */
  unopened(row: Row): string;
};
type SealedValue = Owner & { sealed: string };

/** 11 kB each at most. */
const ROWS_AT_ONCE = 500;

export const sealedSecrets = (sealer: Sealer): Sealed<SealedRow> => ({
  sealer,
  lock: lockSealedRows,
  update: updateSealed,
  unopened: ({ name }) => `the secret ${name} does not open with this installation's key: set it again or delete it`,
});

/** How many of each it has sealed. Throws OperatorError, with nothing changed, if one does not open. */
export const rotateKey = <Kind extends string>(
  database: Database,
  clock: Clock,
  kinds: Record<Kind, Sealed<any>>,
): Promise<Record<Kind, number>> =>
  database.transaction(async (query) => {
    const keyId = newKeyId();
    await takeKey(query, keyId);
    const names = Object.keys(kinds) as Kind[];
    const none = Object.fromEntries(names.map((name) => [name, 0])) as Record<Kind, number>;
    const all = { ...none };
    const counts = new Map<OrganizationId, Record<Kind, number>>();
    for (const name of names) {
      for await (const { organizationId } of sealAnew(query, keyId, kinds[name])) {
        const own = counts.get(organizationId) ?? { ...none };
        counts.set(organizationId, own);
        own[name]++;
        all[name]++;
      }
    }
    // In the order of the audit's locks.
    for (const organizationId of [...counts.keys()].toSorted())
      await record(query, { organizationId, actor: SYSTEM, from: COMMAND_LINE }, clock.now(), {
        action: "secrets_key_rotated",
        detail: counts.get(organizationId)!,
      });
    return all;
  });

/** From here on, a change of a secret waits until this is committed. */
async function takeKey(query: Query, keyId: string): Promise<void> {
  await insertKeyId(query, keyId);
  await updateKeyId(query, keyId);
}

async function* sealAnew<Row extends SealedValue>(
  query: Query,
  keyId: string,
  { sealer, lock, update, unopened }: Sealed<Row>,
): AsyncGenerator<Row> {
  const resealed = async (row: Row): Promise<Row> => {
    const value = await sealer.open(row.sealed, row);
    if (value === undefined) throw new OperatorError(`${unopened(row)}; nothing was changed`);
    return { ...row, sealed: await sealer.seal(value, row, keyId) };
  };
  for (let rows = await lock(query, undefined, ROWS_AT_ONCE); rows.length > 0;) {
    await update(query, await Promise.all(rows.map(resealed)));
    yield* rows;
    rows = await lock(query, rows.at(-1), ROWS_AT_ONCE);
  }
}
