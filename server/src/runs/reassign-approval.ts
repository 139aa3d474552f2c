/** `reassignApproval`: others decide. Asks the same rule as a decision, under the same lock. */
import { isDeepStrictEqual } from "node:util";
import { appendEvent, eventValues } from "../audit/record.ts";
import { actorOf, whoOf, type Acting } from "../auth/caller.ts";
import { assigneeProblem, isRole, tidyAssignee } from "../definition/tasks/assignees.ts";
import { readWholeApproval } from "../execution/journal/read-approval.ts";
import { APPROVAL_COLUMNS, approvalFromRow, type KeptReassignment } from "../execution/journal/read-rows.ts";
import type { Approval, WholeApproval } from "../execution/run/run.ts";
import { badInput, conflict, notFound, Refusal, refuseAny, type FieldProblem } from "../lib/errors.ts";
import { encodeId, type ApprovalId, type UserId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { reached } from "../lib/reach.ts";
import type { Query } from "../storage/database.ts";
import { tellApproval, type Runs } from "./handle/runs.ts";
import { checkComment, checkHistory, lockApproval, lockAsked, tooLate } from "./lock-approval.ts";
import { auditNames, readByEmail } from "./read/named-users.ts";
import { mayOverride, type Person } from "./read/who-decides.ts";
import { countDeciders } from "./starters.ts";

export type Reassigning = {
  approvalId: ApprovalId;
  /** In place of those who are asked now. */
  assignees: readonly string[];
  comment?: string;
};

/**
 * Returns the approval with its new assignees. A repeat by the same caller changes nothing. Throws NOT_FOUND; BAD_USER_INPUT; FORBIDDEN
 * (`not_assigned`) to others than an assignee who may decide, owners and admins; CONFLICT if it is closed.
 */
export async function reassignApproval(runs: Runs, caller: Acting, given: Reassigning): Promise<Approval> {
  const { organizationId } = caller;
  const asked = reached(caller, await readWholeApproval(runs.database, organizationId, given.approvalId));
  if (!asked) throw notFound("Approval");
  checkComment(given.comment);
  const wanted = { to: checkedAssignees(given.assignees), comment: given.comment ?? null };
  const { approval, told } = await runs.database.transaction(async (query) => {
    const locked = await lockApproval(query, runs.database, asked);
    const now = new Date(runs.clock.now());
    if (locked.status !== "open") throw tooLate(locked.status);
    if (locked.expiresAt && locked.expiresAt <= now) throw tooLate("open");
    if (isRepeated(locked, caller, wanted)) return { approval: await readAgain(query, locked), told: undefined };
    const { person, isOverride } = await lockAsked(query, caller, locked);
    if (!person || !mayOverride(person)) checkOwnPlace(locked, caller, person, wanted.to);
    const ids = await checkPeople(query, locked, wanted.to);
    const by = { ...actorOf(caller), at: now.toISOString() };
    const reassignment = { ...by, ...wanted, from: [...(locked.assignees ?? [])], isOverride };
    checkHistory(locked, reassignment);
    const news = { organizationId, event: "approval.reassigned", subjectId: locked.id, at: now } as const;
    const tell = await runs.approvalNews(query, news);
    return { approval: await write(query, caller, locked, reassignment, ids), told: tell };
  }, organizationId);
  if (!told) return approval;
  told();
  tellApproval(runs, organizationId, approval.id);
  return approval;
}

/** The names that they are kept by, each once. Throws BAD_USER_INPUT. */
function checkedAssignees(given: readonly string[]): string[] {
  const problems: FieldProblem[] = [];
  const path = "input.assignees";
  const most = LIMITS.approvalAssignees;
  if (given.length === 0) problems.push({ path, code: "too_few", message: "must have at least one e-mail or role" });
  if (given.length > most) problems.push({ path, code: "too_many", message: `must have at most ${most} items` });
  else
    for (const [index, each] of given.entries()) {
      const problem = assigneeProblem(each);
      if (problem !== undefined)
        problems.push({ path: `${path}.${index}`, code: "invalid", message: `is no assignee: ${problem}` });
    }
  refuseAny(problems);
  return [...new Set(given.map(tidyAssignee))];
}

type Wanted = { to: string[]; comment: string | null };

/** Whether the caller was the last one to reassign it, and did so. */
function isRepeated({ reassignments }: WholeApproval, caller: Acting, { to, comment }: Wanted): boolean {
  const last = reassignments.at(-1);
  const { kind, id } = actorOf(caller);
  return last?.by.kind === kind && last.by.id === id && last.comment === comment && isDeepStrictEqual(last.to, to);
}

/**
 * Who is no owner or admin gives what is theirs: where one is enough, the decision; where several have to approve, their own place among
 * them, to one other. Or one of two could choose both.
 */
function checkOwnPlace(
  { assignees, decisions, quorum }: WholeApproval,
  caller: Acting,
  person: Person | undefined,
  to: readonly string[],
): void {
  const { kind, id } = actorOf(caller);
  if (decisions.some(({ by }) => by.kind === kind && by.id === id))
    throw conflict("already_decided", "you have decided this approval already: an owner or an admin can reassign it");
  if (quorum === 1) return;
  const others = (assignees ?? []).filter((name) => name !== person?.email.toLowerCase());
  const isOwn = others.length === (assignees?.length ?? 0) - 1;
  const added = to.filter((name) => !others.includes(name));
  const isOnly = added.length === 1 && !isRole(added[0]!) && to.length === others.length + 1;
  if (isOwn && isOnly) return;
  const message = `${quorum} have to approve this, so you can pass on only your own place, from your e-mail to another one; an owner or an admin can reassign the rest`;
  throw new Refusal("FORBIDDEN", message, { reason: "not_assigned" });
}

/** The users whose e-mails are named. Throws BAD_USER_INPUT if one may not decide, or there are too few. */
async function checkPeople(
  query: Query,
  { organizationId, excluded, quorum, decisions }: WholeApproval,
  to: readonly string[],
): Promise<Map<string, UserId>> {
  const emails = to.filter((name) => !isRole(name));
  const members = await readByEmail(query, organizationId, to);
  const problems: FieldProblem[] = [];
  for (const [index, name] of to.entries()) {
    const path = `input.assignees.${index}`;
    const user = members.get(name);
    if (isRole(name)) continue;
    if (!user) problems.push({ path, code: "unknown", message: "is no member who may decide" });
    else if (excluded?.includes(user))
      problems.push({ path, code: "invalid", message: "started what the approval is about, and may not decide it" });
  }
  refuseAny(problems);
  const decided = decisions.flatMap(({ by }) => (by.kind === "user" ? [by.id as UserId] : []));
  const needed = quorum - decided.length;
  const named = emails.filter((name) => !decided.includes(members.get(name)!)).length;
  const others = await countDeciders(query, organizationId, to, [...(excluded ?? []), ...decided]);
  const left = emails.length === to.length ? Math.min(named, others) : others;
  if (left >= needed) return members;
  const message = `must name more people: ${needed} ${decided.length > 0 ? "more " : ""}have to approve`;
  throw badInput("invalid_input", `input.assignees ${message}`, [
    { path: "input.assignees", code: "too_few", message },
  ]);
}

async function write(
  query: Query,
  caller: Acting,
  { organizationId, id, runId, reassignments, assignees }: WholeApproval,
  reassignment: KeptReassignment,
  users: ReadonlyMap<string, UserId>,
): Promise<Approval> {
  if (reassignments.length >= LIMITS.approvalReassignments)
    throw conflict("limit_reached", `an approval is reassigned at most ${LIMITS.approvalReassignments} times`);
  const former = await readByEmail(query, organizationId, assignees ?? []);
  const { from, to, isOverride, at } = reassignment;
  const [row] = await query(
    `update approvals set assignees = $3::jsonb, reassignments = coalesce(reassignments, '[]') || $4::jsonb
      where organization_id = $1 and id = $2 returning ${APPROVAL_COLUMNS}, ${appendEvent(5)}`,
    [
      organizationId,
      id,
      JSON.stringify(to),
      JSON.stringify([reassignment]),
      ...eventValues(whoOf(caller), Date.parse(at), {
        action: "approval_reassigned",
        subject: { kind: "approval", id },
        detail: {
          runId: encodeId("run", runId),
          from: auditNames(from, former),
          to: auditNames(to, users),
          ...(isOverride && { isOverride: true }),
        },
      }),
    ],
  );
  return approvalFromRow(row!);
}

async function readAgain(query: Query, { organizationId, id }: WholeApproval): Promise<Approval> {
  const [row] = await query(`select ${APPROVAL_COLUMNS} from approvals where organization_id = $1 and id = $2`, [
    organizationId,
    id,
  ]);
  return approvalFromRow(row!);
}
