/** Who may decide an approval, as authors write it: e-mails of members, and roles as `role:editor`. */
import { LIMITS } from "../../lib/limits.ts";

/** The roles that may decide at all (`approvals:decide`). */
export const DECIDING_ROLES: readonly string[] = ["owner", "admin", "editor", "runner"];

const ROLE = "role:";
const EMAIL = /^[^\s@]+@[^\s@]+$/;

/** Whether it names people. Any other text of `assignee` is a note. */
export const namesPeople = (text: string): boolean => text.trim().startsWith(ROLE) || EMAIL.test(text.trim());

/** E-mails are compared without case. */
export const tidyAssignee = (text: string): string => text.trim().toLowerCase();

export const isRole = (assignee: string): boolean => assignee.startsWith(ROLE);

/** The role of an assignee that is one: `editor` of `role:editor`. */
export const roleOf = (assignee: string): string => assignee.slice(ROLE.length);

/** The problem with it, as a sentence; undefined: none. */
export function assigneeProblem(text: string): string | undefined {
  const assignee = tidyAssignee(text);
  if (isRole(assignee)) {
    const role = roleOf(assignee);
    if (DECIDING_ROLES.includes(role)) return undefined;
    if (role === "viewer") return "viewers may not decide; write another role, or e-mails";
    return `there is no such role; write one of ${DECIDING_ROLES.map((name) => ROLE + name).join(", ")}`;
  }
  if (EMAIL.test(assignee) && assignee.length <= LIMITS.emailCharacters && !assignee.includes("\0")) return undefined;
  return "write the e-mail of a member, or a role such as role:editor";
}
