/** What makes a start safe to repeat: for a day, the same key with the same body is the same run. */
import { createHash } from "node:crypto";
import { conflict, notFound, Refusal } from "../lib/errors.ts";
import type { AgentId, OrganizationId, RunId } from "../lib/ids.ts";
import type { Json } from "../lib/json.ts";
import { forgetKey } from "./forget-keys.ts";
import { DuplicateStart } from "./journal.ts";
import { readRun } from "./read.ts";
import type { Run } from "./run.ts";
import type { StartRow } from "./rows.ts";
import type { Runs } from "./runs.ts";

/** `body`: what was asked for, whatever the order of its keys. */
export type IdempotencyKey = { organizationId: OrganizationId; agentId: AgentId; text: string; body: Json };

/**
 * Starts, or answers the run that the key stands for already: also when the start is refused, because the agent may take
 * no new one by now. Throws CONFLICT when the key was used with another body.
 */
export async function startOnce<Started>(
  runs: Runs,
  key: IdempotencyKey | undefined,
  { start, known }: { start: () => Promise<Started>; known: (run: Run) => Promise<Started> | Started },
): Promise<Started> {
  try {
    return await start();
  } catch (error) {
    const isTaken = error instanceof DuplicateStart;
    if (!key || !(isTaken || error instanceof Refusal)) throw error;
    const run = await knownRun(runs, key);
    if (run) return known(run);
    if (!isTaken) throw error;
    // The key's day may end between the two statements; it is free then.
    return startOnce(runs, key, { start, known });
  }
}

/** The columns of a start's row. */
export const keyColumns = (key: IdempotencyKey | undefined): Pick<StartRow, "key" | "body_hash"> => ({
  key: key?.text ?? null,
  body_hash: key ? hashOf(key) : null,
});

async function knownRun(runs: Runs, key: IdempotencyKey): Promise<Run | undefined> {
  const row = await readKey(runs, key);
  if (!row) return undefined;
  if (row.body_hash !== hashOf(key)) throw conflict("the idempotency key was used with another body");
  const run = await readRun(runs, key.organizationId, row.run_id);
  if (!run) throw notFound("Run");
  return run;
}

/** Undefined when the key's day is over: it is forgotten, and free again. */
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

/** The same whatever the order of keys. */
function canonical(value: Json): Json {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, canonical(value[key]!)]),
  );
}
