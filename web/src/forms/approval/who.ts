/** Who may decide an approval, from what the API says about it. The server has the rule; this finds the words for it. */
import type { ApprovalCardFragment } from "../../api/documents.ts";
import { showInvisible } from "../../lib/invisible.ts";
import type { Me } from "../../api/use-may.ts";

type Approval = ApprovalCardFragment;

const ROLE = "role:";

/** An assignee in words: `any editor` of `role:editor`. */
export const assigneeText = (assignee: string): string =>
  assignee.startsWith(ROLE) ? `any ${assignee.slice(ROLE.length)}` : showInvisible(assignee);

/** `anna@example.org, any editor and 3 more`. */
export function assigneesText(assignees: readonly string[], most = 2): string {
  const shown = assignees.length <= most ? assignees.length : Math.max(1, most);
  const words = assignees.slice(0, shown).map(assigneeText);
  const rest = assignees.length - shown;
  if (rest > 0) return `${words.join(", ")} and ${rest} more`;
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** Whether an assignee names this person, by e-mail or by role. */
export const isMe = (assignee: string, { email, role }: Me): boolean =>
  assignee === email.toLowerCase() || assignee === `${ROLE}${role}`;

export const isAssigned = ({ assignees }: Pick<Approval, "assignees">, me: Me): boolean =>
  assignees.some((assignee) => isMe(assignee, me));

export const ownDecision = ({ decisions }: Approval, me: Me): Approval["decisions"][number] | undefined =>
  decisions.find(({ by }) => by.kind === "user" && by.id === me.id);

/** Whether a decision of theirs stands in place of those who are asked. */
export const isInPlace = (approval: Approval, me: Me | undefined): boolean =>
  approval.canDecide && me !== undefined && approval.assignees.length > 0 && !isAssigned(approval, me);

const OVERRIDING = ["owner", "admin"];

/** Whether they may choose all who decide. If several have to approve, an assignee passes on only their own place, which has their e-mail. */
export const mayChooseAll = ({ quorum }: Approval, me: Me): boolean => quorum === 1 || OVERRIDING.includes(me.role);

/** Whether they may pass it on: who may decide it and has not, and owners and admins. */
export const mayReassign = (approval: Approval, me: Me): boolean =>
  approval.status === "open" &&
  (approval.canDecide || (OVERRIDING.includes(me.role) && ownDecision(approval, me) !== undefined)) &&
  (mayChooseAll(approval, me) || approval.assignees.includes(me.email.toLowerCase()));

const approvalsOf = ({ decisions }: Approval): number =>
  decisions.filter(({ decision }) => decision === "approve").length;

/** `1 of 2 approvals`; undefined where one decides. */
export const countText = (approval: Approval): string | undefined =>
  approval.quorum > 1 ? `${approvalsOf(approval)} of ${approval.quorum} approvals` : undefined;

/** Once somebody has approved, all others approve the same. */
export const isAnswered = (approval: Approval): boolean => approval.status === "open" && approvalsOf(approval) > 0;

/** Why somebody who may decide approvals may not decide this open one. */
export function whyNot(approval: Approval, me: Me): string {
  const own = ownDecision(approval, me);
  if (own) {
    const left = approval.quorum - approvalsOf(approval);
    return `You have ${own.decision === "approve" ? "approved" : "rejected"} it. ${left === 1 ? "One more approval is" : `${left} more approvals are`} needed.`;
  }
  if (approval.expiresAt !== null && Date.parse(approval.expiresAt) <= Date.now())
    return "It can no longer be decided.";
  if (approval.assignees.length > 0 && !isAssigned(approval, me))
    return `You are not assigned: ${assigneesText(approval.assignees, 5)} may decide it, and so may owners and admins in their place.`;
  return "You started the run, so you may not decide it.";
}
