/** Makes a start safe to repeat: for a day, the same key with the same body means the same run. */
import { createHash } from "node:crypto";
import { badInput, conflict, notFound, Refusal } from "../lib/errors.ts";
import type { AgentId, OrganizationId, RunId } from "../lib/ids.ts";
import { ExactNumber, exactKey } from "../lib/json/exact-number.ts";
import { isScalar, type Json } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import { allOf } from "../lib/reach.ts";
import { DraftNotFound } from "./run-draft-texts.ts";
import { forgetKey } from "./forget-keys.ts";
import { RefusedStart } from "../execution/journal/journal.ts";
import { readRun } from "./read/read.ts";
import type { Run } from "../execution/run/run.ts";
import { startPart, type Brought, type Guard } from "../execution/journal/part.ts";
import { hex, ms, RowSet, text as textColumn, uuid, type RowOf } from "../storage/unnest.ts";
import type { Head } from "../execution/journal/loaded-run.ts";
import type { Runs } from "./handle/runs.ts";

const KEY = {
  run_id: uuid<RunId>(),
  organization_id: uuid<OrganizationId>(),
  agent_id: uuid<AgentId>(),
  key: textColumn(),
  /** SHA-256 of the body that belongs to the key. */
  body_hash: hex(),
  created_at: ms(),
};

const ROWS = new RowSet<RowOf<typeof KEY>>("given_key", "key_row", KEY);

export const KEYS = startPart<RowOf<typeof KEY>, Guard>({
  code: "k",
  rows: ROWS,
  refused: "(select run_id from given_keys except select run_id from kept_keys)",
  sql: (from) => `
      given_keys as materialized (select * from ${from}),
      kept_keys as (
        insert into idempotency_keys as known (${ROWS.list})
        select distinct on (given_key.organization_id, given_key.agent_id, given_key.key) ${ROWS.selected}
          from given_keys as given_key order by given_key.organization_id, given_key.agent_id, given_key.key, given_key.run_id
        on conflict (organization_id, agent_id, key) do update set run_id = excluded.run_id
          where known.run_id = excluded.run_id
        returning run_id)`,
});

/** Limited to what an HTTP header can carry as well. */
const PATTERN = new RegExp(`^[\\x20-\\x7e]{1,${LIMITS.idempotencyKeyCharacters}}$`);

/** A key that stands in what was asked at `path`, in the `Idempotency-Key` header, or in both. Throws BAD_USER_INPUT. */
export function checkedKey(given: string | undefined, header: string | undefined, path: string): string | undefined {
  if (given !== undefined && header !== undefined && given !== header) {
    throw badInput("invalid_input", `the Idempotency-Key header and ${path} differ`, [
      { path, code: "differs", message: "differs from the Idempotency-Key header" },
    ]);
  }
  const key = given ?? header;
  if (key === undefined || PATTERN.test(key)) return key;
  const message = `must have 1 to ${LIMITS.idempotencyKeyCharacters} printable characters of ASCII`;
  throw badInput("invalid_input", `the idempotency key ${message}`, [{ path, code: "invalid", message }]);
}

/** `body`: the request; the order of its keys does not matter. */
export type IdempotencyKey = { organizationId: OrganizationId; agentId: AgentId; text: string; body: Json };

/**
 * Starts a run, or returns the one that the key already stands for: even when the start is refused, because the agent may
 * no longer take runs. Throws CONFLICT if the key was used with another body.
 */
export async function startOnce<Started>(
  runs: Runs,
  key: IdempotencyKey,
  { start, known }: { start: () => Promise<Started>; known: (run: Run) => Promise<Started> | Started },
): Promise<Started> {
  try {
    return await start();
  } catch (error) {
    const isTaken = error instanceof RefusedStart;
    if (!isTaken && !(error instanceof Refusal)) throw error;
    // An agent that is not reached, or a version that is not there: the key must not tell what others started with it. A draft only
    // ends before the key does.
    if (error instanceof Refusal && error.code === "NOT_FOUND" && !(error instanceof DraftNotFound)) throw error;
    const run = await knownRun(runs, key);
    if (run) return known(run);
    if (!isTaken) throw error;
    // The key's day may end between the two statements; then it is free.
    return startOnce(runs, key, { start, known });
  }
}

/** The row written with the start. */
export const keyToWrite = (
  { id, organizationId, agentId, createdAt }: Pick<Head, "id" | "organizationId" | "agentId" | "createdAt">,
  key: IdempotencyKey,
): Brought =>
  KEYS.row({
    run_id: id,
    organization_id: organizationId,
    agent_id: agentId,
    key: key.text,
    body_hash: hashOf(key),
    created_at: createdAt,
  });

async function knownRun(runs: Runs, key: IdempotencyKey): Promise<Run | undefined> {
  const row = await readKey(runs, key);
  if (!row) return undefined;
  if (row.body_hash !== hashOf(key))
    throw conflict("key_reused", "the idempotency key was used with another body: send that body again, or a new key");
  const run = await readRun(runs, allOf(key.organizationId), row.run_id);
  if (!run) throw notFound("Run");
  return run;
}

/** Undefined if the key's day is over: forgets it, so it is free again. */
async function readKey(
  runs: Runs,
  { organizationId, agentId, text }: IdempotencyKey,
): Promise<{ run_id: RunId; body_hash: string } | undefined> {
  await forgetKey(runs, organizationId, agentId, text);
  const [row] = await runs.database.query(
    `select run_id, encode(body_hash, 'hex') as body_hash from idempotency_keys
      where organization_id = $1 and agent_id = $2 and key = $3`,
    [organizationId, agentId, text],
    organizationId,
  );
  return row as { run_id: RunId; body_hash: string } | undefined;
}

const hashOf = ({ body }: IdempotencyKey): string =>
  createHash("sha256")
    .update(JSON.stringify(canonical(body)))
    .digest("hex");

/** Does not depend on the order of keys or on the spelling of a long number. */
function canonical(value: Json): Json {
  if (Array.isArray(value)) return value.map(canonical);
  if (value instanceof ExactNumber) return new ExactNumber(exactKey(value));
  if (isScalar(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, canonical(value[key]!)]),
  );
}
