/** Members of an organization, and who may make whom what. */
import type { Caller } from "../auth/caller.ts";
import { ROLE_SCOPES, type Scope } from "../auth/scopes.ts";
import { Refusal } from "../lib/errors.ts";
import type { MemberId, UserId } from "../lib/ids.ts";
import type { Role } from "../storage/schema.ts";

export type Member = { user: { id: UserId; name: string }; role: Role; createdAt: Date };

/** A member is named by the user: the same UUID behind another prefix. */
export const memberIdOf = ({ user }: { user: Pick<Member["user"], "id"> }): MemberId => user.id as string as MemberId;
export const userOfMember = (id: MemberId): UserId => id as string as UserId;

/** Who changes something, as they are at that moment. `isOwner` is false for every API key. */
export type Granter = { isOwner: boolean; scopes: Caller["scopes"] };

const ONLY_OWNERS = "only an owner makes, changes or removes an owner";

/** Throws FORBIDDEN for what is an owner's alone, and naming the scopes of `role` that the granter lacks. */
export function checkGrant(by: Granter, role: Role): void {
  if (role === "owner" && !by.isOwner) throw new Refusal("FORBIDDEN", ONLY_OWNERS);
  const lacking: Scope[] = [...ROLE_SCOPES[role].difference(by.scopes)];
  if (lacking.length === 0) return;
  const scope = lacking.join(" ");
  throw new Refusal("FORBIDDEN", `nobody grants more than they have: ${role} has ${lacking.join(" and ")}`, { scope });
}

/** Whether they may change or remove a member who is this now. Throws FORBIDDEN. */
export function checkChange(by: Granter, role: Role): void {
  if (role === "owner" && !by.isOwner) throw new Refusal("FORBIDDEN", ONLY_OWNERS);
}
