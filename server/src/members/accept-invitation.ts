/** Becoming a member by a link: as who one is signed in as, as a user who proves a password, or as a new user. */
import { record } from "../audit/record.ts";
import { notSignedIn, type Caller } from "../auth/caller.ts";
import { openSession, tryPassword, wrongLogin, type LoginFrom, type Opening } from "../auth/sessions/login.ts";
import { emailProblem, nameProblem, passwordProblem, refuseProblems, tidyName } from "../auth/names.ts";
import type { SignedIn } from "../auth/sessions/session.ts";
import { memberEmails } from "../auth/accounts/users.ts";
import { badInput, conflict, notFound, type FieldProblem } from "../lib/errors.ts";
import { newId, type UserId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Query } from "../storage/database.ts";
import { isDuplicate } from "../storage/pg-errors.ts";
import { lockMembers } from "./change-members.ts";
import { findByToken } from "./invitations.ts";
import { countMembers, takeTry, useInvitation, type NewUser, type OpenInvitation } from "./invitation-store.ts";
import { memberIdOf } from "./member.ts";
import type { Members } from "./members.ts";

type Acceptance = {
  token: string;
  name?: string | undefined;
  email?: string | undefined;
  password?: string | undefined;
};

/** `joined` is called when they are a member. */
type Joining = { id: UserId; made?: NewUser; proof: Opening["proof"]; joined?: () => Promise<void> };

/**
 * Returns a session in the organization. Throws NOT_FOUND for a link that is not good (any longer), BAD_USER_INPUT for an API
 * key, for fields that are missing or too many, and for an e-mail that the invitation is not for, UNAUTHENTICATED and
 * RATE_LIMITED as `login` does, CONFLICT for somebody who is a member and when the organization is full.
 */
export async function acceptInvitation(
  members: Members,
  caller: Caller | undefined,
  acceptance: Acceptance,
  from: LoginFrom,
): Promise<SignedIn> {
  if (caller?.credential.kind === "key")
    throw badInput("wrong_credential", "an API key cannot accept an invitation: sign in, or send no credential");
  const { invitation, secretHash } = await findByToken(members, acceptance.token);
  const joining = caller
    ? await asCaller(members, caller, acceptance, invitation)
    : await asStranger(members, acceptance, { invitation, secretHash }, from);
  await join(members, { invitation, secretHash }, joining, from);
  const { id: userId, proof } = joining;
  const { organizationId } = invitation;
  const signedIn = await openSession(members.auth, { userId, organizationId, proof }, from);
  await joining.joined?.();
  return signedIn;
}

/** A signed-in user has proven who they are. */
async function asCaller(
  { auth }: Members,
  { organizationId, user, credential }: Caller,
  acceptance: Acceptance,
  invitation: OpenInvitation,
): Promise<Joining> {
  const unexpected = (["name", "email", "password"] as const).filter((name) => acceptance[name] !== undefined);
  refuseProblems(
    unexpected.map((name) => ({ path: `input.${name}`, code: "unknown", message: "is not asked of who is signed in" })),
  );
  const email = (await memberEmails(auth, organizationId, [user.id])).get(user.id);
  if (email === undefined) throw notSignedIn();
  checkFits(invitation, email, "input.token");
  const proof = credential.kind === "user" ? { session: { organizationId, id: credential.sessionId } } : undefined;
  return { id: user.id, proof };
}

/**
 * A password is asked for in the same turns and with the same throttle as in `login`, and an e-mail that has no account gets
 * the same words unless a name is given: then an account is made, which uses the link up. A link is good for
 * `LIMITS.invitationTries` tries, so nobody can try one e-mail after another to learn who has an account.
 */
async function asStranger(
  members: Members,
  { name, email, password }: Acceptance,
  { invitation, secretHash }: Found,
  from: LoginFrom,
): Promise<Joining> {
  const missing = (path: string): FieldProblem => ({
    path,
    code: "required",
    message: "is required without a session",
  });
  refuseProblems([
    email === undefined ? missing("input.email") : emailProblem(email, "input.email"),
    password === undefined ? missing("input.password") : undefined,
    name === undefined ? undefined : nameProblem(name, "input.name"),
    name === undefined || password === undefined ? undefined : passwordProblem(password, "input.password"),
  ]);
  checkFits(invitation, email!, "input.email");
  const { auth } = members;
  const account = tidyName(email!);
  if (!(await takeTry(auth.database, secretHash))) throw notFound("Invitation");
  const { user, isRight, giveBack } = await tryPassword(auth, { email: account, password: password! }, from).catch(
    async (error: unknown) => {
      await takeTry(auth.database, secretHash, -1);
      throw error;
    },
  );
  if (user && !isRight) throw wrongLogin();
  const joined = async (id: UserId): Promise<void> => {
    await giveBack();
    await auth.knownAddresses.note({ id, email: account }, from.address);
  };
  if (user) return { id: user.id, proof: { passwordHash: user.passwordHash }, joined: () => joined(user.id) };
  if (name === undefined) throw wrongLogin();
  const id = newId<"user">();
  const passwordHash = await auth.passwords.hash(password!);
  return {
    id,
    made: { email: account, name: tidyName(name), passwordHash },
    proof: { passwordHash },
    joined: () => joined(id),
  };
}

function checkFits({ email: wanted, members }: OpenInvitation, email: string, path: string): void {
  if (wanted !== null && wanted.toLowerCase() !== tidyName(email).toLowerCase())
    throw badInput("invalid_input", "this invitation is for another e-mail", [
      { path, code: "differs", message: "is for another e-mail" },
    ]);
  checkRoom(members);
}

function checkRoom(members: number): void {
  if (members < LIMITS.membersPerOrganization) return;
  throw conflict("limit_reached", `an organization has at most ${LIMITS.membersPerOrganization} members`);
}

type Found = { invitation: OpenInvitation; secretHash: Buffer };

async function join({ auth }: Members, found: Found, joining: Joining, from: LoginFrom): Promise<void> {
  const { organizationId, role } = found.invitation;
  const now = auth.clock.now();
  const use = async (query: Query): Promise<boolean> => {
    await lockMembers(query, organizationId);
    checkRoom(await countMembers(query, organizationId));
    if (!(await useInvitation(query, found.secretHash, joining, now))) return false;
    const who = { organizationId, actor: { kind: "user", id: joining.id } as const, from };
    const subject = { kind: "member", id: memberIdOf({ user: joining }) } as const;
    await record(query, who, now, { action: "member_joined", subject, detail: { role } });
    return true;
  };
  const isUsed = await auth.database.transaction(use, "strangers").catch((error: unknown) => {
    if (isDuplicate(error, "members_pkey")) throw conflict("already_member", "you are a member of this organization");
    if (isDuplicate(error, "users_email"))
      throw conflict("email_taken", "a user with this e-mail was created at the same moment");
    throw error;
  });
  if (!isUsed) throw notFound("Invitation");
}
