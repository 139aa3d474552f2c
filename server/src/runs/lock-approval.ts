/** The beginning of all that people do to an open approval, within its transaction: its lock, and the one rule of who may. */
import { requireScope, type Acting, type Caller } from "../auth/caller.ts";
import { lockRights } from "../auth/present-rights.ts";
import { WHOLE_APPROVAL_COLUMNS, wholeApprovalFromRow } from "../execution/journal/read-rows.ts";
import type { Approval, WholeApproval } from "../execution/run/run.ts";
import { badInput, conflict } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";
import { isStorable } from "../lib/text.ts";
import type { Database, Query } from "../storage/database.ts";
import { partitionOf } from "../storage/partitions.ts";
import { notAssigned, readPerson, standingOf, type Person } from "./read/who-decides.ts";

/** Its run's row first, as the interpreter's writes do. Until the transaction ends nobody else decides it or passes it on. */
export async function lockApproval(
  query: Query,
  database: Database,
  { organizationId, runId, id }: Pick<Approval, "organizationId" | "runId" | "id">,
): Promise<WholeApproval> {
  await query(
    `select from runs_${partitionOf(database, runId)} where id = $1 and organization_id = $2 for no key update`,
    [runId, organizationId],
  );
  const [row] = await query(
    `select ${WHOLE_APPROVAL_COLUMNS} from approvals where organization_id = $1 and id = $2 for update`,
    [organizationId, id],
  );
  return wholeApprovalFromRow(row!);
}

/** `person`: undefined for an API key. `isOverride`: they do it in place of others. */
type Asked = { person: Person | undefined; isOverride: boolean };

/** By a mailed link nobody decides in place of others. */
type Way = { isByLink?: boolean };

/** Throws FORBIDDEN; UNAUTHENTICATED for somebody who is no member any longer. */
export async function requireAsked(
  query: Query,
  caller: Caller,
  approval: WholeApproval,
  { isByLink = false }: Way = {},
): Promise<Asked> {
  const person = await readPerson(query, caller);
  const standing = standingOf(approval, person);
  if (standing === "not_assigned" || (isByLink && standing === "override")) throw notAssigned(approval, person);
  return { person, isOverride: standing === "override" };
}

/** Reads their rights as they are now; they stay so until the transaction ends. */
export async function lockAsked(query: Query, caller: Acting, approval: WholeApproval, way?: Way): Promise<Asked> {
  const { scopes } = await lockRights(query, caller);
  requireScope({ ...caller, scopes }, "approvals:decide");
  return requireAsked(query, caller, approval, way);
}

export function checkComment(comment: string | undefined): void {
  if (comment === undefined) return;
  const message =
    comment.length > LIMITS.descriptionCharacters
      ? `has at most ${LIMITS.descriptionCharacters} characters`
      : !isStorable(comment)
        ? "has no NUL and no half of a surrogate pair"
        : undefined;
  if (message)
    throw badInput("invalid_input", `the comment ${message}`, [{ path: "input.comment", code: "invalid", message }]);
}

/**
 * A maximum for all that people did to an approval, since each list reads it: 200 approvals with ten long comments each took 0.8 s of
 * the main thread. Throws BAD_USER_INPUT for the comment; without one, CONFLICT.
 */
export function checkHistory(
  { decisions, reassignments }: Pick<WholeApproval, "decisions" | "reassignments">,
  added: { comment: string | null },
): void {
  const most = LIMITS.approvalHistoryBytes;
  if (Buffer.byteLength(JSON.stringify([decisions, reassignments, added])) <= most) return;
  const all = `decisions and reassignments of an approval have at most ${most} bytes together`;
  if (added.comment === null) throw conflict("limit_reached", all);
  const message = `is too long: ${all}`;
  throw badInput("invalid_input", `the comment ${message}`, [{ path: "input.comment", code: "too_long", message }]);
}

/** `open`: it has expired. */
export function tooLate(status: Approval["status"] | undefined): Error {
  if (status === "open") return conflict("wrong_state", "the approval has expired");
  const isDecided = status === "approved" || status === "rejected";
  return conflict(isDecided ? "already_decided" : "wrong_state", `the approval is already ${status}`);
}
