/** A new key for access tokens. One transaction: after a crash it is there or not, and either works. */
import { randomUUID } from "node:crypto";
import { COMMAND_LINE, SYSTEM } from "../../audit/event.ts";
import { record } from "../../audit/record.ts";
import type { Clock } from "../../lib/clock.ts";
import { OperatorError } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Database, Query } from "../../storage/database.ts";
import { firstOrganization } from "../first-organization.ts";
import { AFTERLIFE_MS } from "./signing-keys.ts";

/** `signsFrom` and `formerUntil` (when the last token of the former key has ended) in ms since 1970. */
export type Rotation = { id: string; signsFrom: number; formerUntil: number };

/**
 * It is published at once, and signs when everybody who keeps the published keys for a while has it; `atOnce`: now. Throws
 * OperatorError when too many are in use.
 */
export async function rotateSigningKey(database: Database, clock: Clock, atOnce: boolean): Promise<Rotation> {
  const now = clock.now();
  const signsFrom = now + (atOnce ? 0 : LIMITS.signingKeyGraceSeconds * 1_000);
  const id = randomUUID();
  const isMade = await database.transaction(async (query) => {
    if (!(await insertKey(query, { id, signsFrom, endedBefore: now - AFTERLIFE_MS }))) return false;
    const organizationId = await firstOrganization(query);
    const detail = { kid: id, atOnce };
    const who = organizationId && { organizationId, actor: SYSTEM, from: COMMAND_LINE };
    if (who) await record(query, who, now, { action: "signing_key_rotated", detail });
    return true;
  });
  if (!isMade)
    throw new OperatorError(
      `${LIMITS.signingKeysInUse} signing keys are in use already: try again when the tokens of one have ended, in ${Math.ceil(AFTERLIFE_MS / 60_000)} minutes at most`,
    );
  return { id, signsFrom, formerUntil: signsFrom + AFTERLIFE_MS };
}

/** Removes those whose tokens have all ended: a later one signs since before `endedBefore`. */
async function insertKey(
  query: Query,
  { id, signsFrom, endedBefore }: { id: string; signsFrom: number; endedBefore: number },
): Promise<boolean> {
  const rows = await query(
    `with ended as (
       delete from signing_keys former where exists (
         select from signing_keys later where later.signs_from > former.signs_from and later.signs_from <= $3))
     insert into signing_keys (id, signs_from)
     select $1, $2 where (select count(*) from signing_keys where signs_from > $3) < $4
     returning id`,
    [id, new Date(signsFrom), new Date(endedBefore), LIMITS.signingKeysInUse - 1],
  );
  return rows.length > 0;
}
