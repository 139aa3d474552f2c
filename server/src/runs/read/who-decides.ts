/** Who may decide an approval. The one rule: GraphQL, MCP, mailed links and the command line all ask here. */
import { actorOf, type Caller } from "../../auth/caller.ts";
import type { Approval } from "../../execution/run/run.ts";
import { Refusal } from "../../lib/errors.ts";
import type { OrganizationId, UserId } from "../../lib/ids.ts";
import type { Database, Query } from "../../storage/database.ts";
import type { Decider } from "../handle/badge-counts.ts";
import type { Role } from "../../storage/schema.ts";

/** A member as they are now; undefined: the caller is an API key, which is no person. */
export type Person = { id: UserId; role: Role; email: string };

type Bound = Pick<Approval, "assignees" | "excluded" | "quorum">;

/** Whether it matters who decides. Anything else is decided by anyone who has the scope, API keys included. */
export const isBound = ({ assignees, excluded, quorum }: Bound): boolean =>
  assignees !== null || excluded !== null || quorum > 1;

/** As assignees name them. */
export const namesOf = ({ role, email }: Person): string[] => [email.toLowerCase(), `role:${role}`];

/** Whether they may decide in place of those who are named. */
export const mayOverride = ({ role }: Person): boolean => role === "owner" || role === "admin";

/** `override`: in place of those who are named. */
type Standing = "asked" | "override" | "not_assigned";

export function standingOf(approval: Bound, person: Person | undefined): Standing {
  if (!isBound(approval)) return "asked";
  const { assignees, excluded } = approval;
  if (!person || excluded?.includes(person.id)) return "not_assigned";
  if (assignees === null || namesOf(person).some((name) => assignees.includes(name))) return "asked";
  return mayOverride(person) ? "override" : "not_assigned";
}

/** In the turn of the caller's organization. */
export const queryFor =
  (database: Pick<Database, "query">, { organizationId }: Pick<Caller, "organizationId">): Query =>
  (text, values) =>
    database.query(text, values, organizationId);

/** Undefined for an API key, and for somebody who is no member any longer. `query` may be that of a transaction. */
export async function readPerson(
  query: Query,
  { organizationId, credential, user }: Caller,
): Promise<Person | undefined> {
  return credential.kind === "key" ? undefined : (await readPeople(query, organizationId, [user.id])).get(user.id);
}

/** Those of `ids` who are members. */
export async function readPeople(
  query: Query,
  organizationId: OrganizationId,
  ids: readonly UserId[],
): Promise<Map<UserId, Person>> {
  const rows = await query(
    `select m.user_id, m.role, u.email from members m join users u on u.id = m.user_id
      where m.organization_id = $1 and m.user_id = any ($2::uuid[])`,
    [organizationId, ids],
  );
  return new Map(
    rows.map((row) => [row["user_id"] as UserId, { id: row["user_id"], role: row["role"], email: row["email"] }]),
  );
}

/** The one for whom badges count what they may decide; null: nothing. */
export async function readDecider(database: Database, caller: Caller): Promise<Decider | null> {
  if (!caller.scopes.has("approvals:decide")) return null;
  if (caller.credential.kind === "key") return { kind: "key" };
  const person = await readPerson(queryFor(database, caller), caller);
  return person ? { kind: "user", id: person.id, names: namesOf(person), mayOverride: mayOverride(person) } : null;
}

/** Whether `decideApproval` would take a decision of this caller now. */
export function canDecide(
  approval: Omit<Approval, "context" | "form" | "answer">,
  caller: Caller,
  person: Person | undefined,
  now: number,
): boolean {
  const { status, expiresAt } = approval;
  if (status !== "open" || (expiresAt !== null && expiresAt.getTime() <= now)) return false;
  if (!caller.scopes.has("approvals:decide") || standingOf(approval, person) === "not_assigned") return false;
  const { kind, id } = actorOf(caller);
  return !approval.decisions.some(({ by }) => by.kind === kind && by.id === id);
}

/** FORBIDDEN, saying who may. */
export function notAssigned(approval: Bound, person: Person | undefined): Refusal {
  const { assignees, excluded } = approval;
  const who = !person
    ? "only people decide this approval, and an API key is no person: sign in"
    : excluded?.includes(person.id)
      ? "you started what this approval is about, so you may not decide it"
      : `this approval is for ${assignees!.join(", ")}`;
  return new Refusal("FORBIDDEN", who, { reason: "not_assigned" });
}
