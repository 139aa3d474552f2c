/** Finding, reading and creating users, and setting passwords. A user may be a member of many organizations. */
import { COMMAND_LINE, SYSTEM } from "../../audit/event.ts";
import { conflict, notFound } from "../../lib/errors.ts";
import { newId, type OrganizationId, type UserId } from "../../lib/ids.ts";
import type { Row } from "../../storage/database.ts";
import type { Role } from "../../storage/schema.ts";
import type { Auth } from "../handle/auth.ts";
import { isEmail } from "../../lib/mail/email-address.ts";
import { emailProblem, nameProblem, passwordProblem, refuseProblems, tidyName } from "../names.ts";
import type { User } from "../organization.ts";
import { storePassword } from "./store-password.ts";

const COLUMNS = "u.id, u.name, u.email, u.created_at";

export const userOf = (row: Row): User => ({
  id: row.id,
  name: row.name,
  email: row.email,
  createdAt: row.created_at,
});

export const nameOfEmail = (email: string): string => tidyName(email).split("@")[0]!;

/** Whether there is no user yet, so that setup is open. */
export async function isEmpty(auth: Auth): Promise<boolean> {
  const [row] = await auth.database.query("select exists (select from users) as has_users");
  return !row!.has_users;
}

/** E-mails are compared without case. */
export async function findUser(auth: Auth, email: string): Promise<User | undefined> {
  const tidy = tidyName(email);
  if (!isEmail(tidy)) return undefined;
  const [row] = await auth.database.query(
    `select ${COLUMNS} from users u where lower(u.email) = lower($1)`,
    [tidy],
    "strangers",
  );
  return row && userOf(row);
}

/** A user with their role in an organization. Undefined for somebody who is not a member. */
export async function readMember(
  auth: Auth,
  organizationId: OrganizationId,
  id: UserId,
): Promise<(User & { role: Role }) | undefined> {
  const [row] = await auth.database.query(
    `select ${COLUMNS}, m.role from members m join users u on u.id = m.user_id
      where m.organization_id = $1 and m.user_id = $2`,
    [organizationId, id],
    organizationId,
  );
  return row && { ...userOf(row), role: row.role };
}

/** The e-mails of those of `ids` who are members, for a loader. */
export async function memberEmails(
  auth: Auth,
  organizationId: OrganizationId,
  ids: readonly UserId[],
): Promise<Map<UserId, string>> {
  const rows = await auth.database.query(
    `select u.id, u.email from members m join users u on u.id = m.user_id
      where m.organization_id = $1 and m.user_id = any($2::uuid[])`,
    [organizationId, ids],
    organizationId,
  );
  return new Map(rows.map((row) => [row.id as UserId, row.email as string]));
}

/** The names of those who created something, also if they have left. Ask only for ids from the caller's own rows. */
export async function userNames(
  auth: Auth,
  organizationId: OrganizationId,
  ids: readonly UserId[],
): Promise<Map<UserId, string>> {
  const rows = await auth.database.query(
    "select id, name from users where id = any($1::uuid[])",
    [ids],
    organizationId,
  );
  return new Map(rows.map((row) => [row.id as UserId, row.name as string]));
}

export type NewUser = { email: string; name: string; password: string; role: Role };

/** A new user as a member of an organization. Throws BAD_USER_INPUT, or CONFLICT when the e-mail is taken. */
export async function createUser(auth: Auth, organizationId: OrganizationId, user: NewUser): Promise<User> {
  refuseProblems([
    emailProblem(user.email, "input.email"),
    nameProblem(user.name, "input.name"),
    passwordProblem(user.password, "input.password"),
  ]);
  const passwordHash = await auth.passwords.hash(user.password);
  const [row] = await auth.database.query(
    `with u as (
       insert into users (id, email, name, password_hash, last_organization_id, created_at)
       values ($2, $3, $4, $5, $1, $7) on conflict (lower(email)) do nothing returning *),
     m as (
       insert into members (organization_id, user_id, role, created_at) select $1, id, $6, created_at from u)
     select ${COLUMNS} from u`,
    [
      organizationId,
      newId(),
      tidyName(user.email),
      tidyName(user.name),
      passwordHash,
      user.role,
      new Date(auth.clock.now()),
    ],
    organizationId,
  );
  if (!row) throw conflict("email_taken", "there is already a user with this e-mail");
  return userOf(row);
}

/**
 * For the operator. Sets a password and ends all the user's sessions: at once in this process, within 5 s in others. Throws
 * BAD_USER_INPUT, NOT_FOUND.
 */
export async function resetPassword(auth: Auth, request: { email: string; password: string }): Promise<User> {
  refuseProblems([passwordProblem(request.password, "password")]);
  const user = await findUser(auth, request.email);
  if (!user) throw notFound("User");
  const passwordHash = await auth.passwords.hash(request.password);
  const by = { actor: SYSTEM, from: COMMAND_LINE };
  await storePassword(auth, { userId: user.id, passwordHash, by, action: "password_reset" });
  return user;
}
