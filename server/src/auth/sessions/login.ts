import { record } from "../../audit/record.ts";
import { Refusal } from "../../lib/errors.ts";
import { newId, type OrganizationId, type SessionId, type UserId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { shownText } from "../../lib/text.ts";
import type { Database } from "../../storage/database.ts";
import type { Auth } from "../handle/auth.ts";
import { notSignedIn, type Client } from "../caller.ts";
import { isEmail } from "../../lib/mail/email-address.ts";
import { accountName, tidyName } from "../names.ts";
import { accountOf, hashToken, makeRefreshToken } from "../refresh-token.ts";
import { holdUser, insertSession, isLive, isMember, type NewSession, type SessionPlace } from "./session-store.ts";
import { issueTokens, type SignedIn } from "./session.ts";
import { network, type Attempt } from "../sign-in/login-throttle.ts";

/** `address` is the client's own, also behind trusted proxies. `userAgent`: what it says that it is. */
export type LoginFrom = { address: string; client: Client; userAgent?: string | undefined };

export const wrongLogin = (): Refusal => new Refusal("UNAUTHENTICATED", "the e-mail or the password is wrong");

/**
 * Signs in to the organization last used, or else to the first one joined. Throws UNAUTHENTICATED (the same, after the same
 * time, for an unknown e-mail and a wrong password), RATE_LIMITED with `retryAfter`, or FORBIDDEN for a user who is
 * not a member of any organization.
 */
export async function login(
  auth: Auth,
  input: { email: string; password: string },
  from: LoginFrom,
): Promise<SignedIn> {
  const email = tidyName(input.email);
  if (!isEmail(email)) throw wrongLogin();
  const { user, isRight, giveBack } = await tryPassword(auth, { ...input, email }, from);
  if (!user || !isRight) throw wrongLogin();
  await giveBack();
  const { id: userId, organizationId, passwordHash } = user;
  if (!organizationId) throw new Refusal("FORBIDDEN", "this user is not a member of any organization");
  const signedIn = await openSession(auth, { userId, organizationId, proof: { passwordHash } }, from);
  await auth.knownAddresses.note({ id: userId, email }, from.address);
  return signedIn;
}

export type Tried = {
  /** Who has the e-mail. */
  user: Login | undefined;
  isRight: boolean;
  /** An attempt is counted as a failure when its turn comes. Call this when it led to something. */
  giveBack: () => Promise<void>;
};

/**
 * Whether this is the password of who has this e-mail (tidy): answered after the same time when nobody has it. Many may wait
 * here for their turn. Throws RATE_LIMITED.
 */
export async function tryPassword(
  auth: Auth,
  { email, password }: { email: string; password: string },
  from: Pick<LoginFrom, "address" | "userAgent">,
): Promise<Tried> {
  const { address } = from;
  let giveBack = async (): Promise<void> => {};
  let user: Login | undefined;
  if (password.length > LIMITS.passwordCharactersMost) return { user, isRight: false, giveBack };
  const attempt: Attempt = { email, address, isKnown: await auth.knownAddresses.has(email, address) };
  auth.throttle.check(attempt);
  const find = async (): Promise<string | undefined> => {
    giveBack = await auth.throttle.attempt(attempt);
    user = await findLogin(auth.database, email);
    return user?.passwordHash;
  };
  const group = attempt.isKnown ? accountName(email) : network(address);
  const isRight = await auth.passwords.verify({ group, isKnown: attempt.isKnown }, find, password);
  if (user?.organizationId && !isRight)
    auth.failedSignIns.note({ userId: user.id, organizationId: user.organizationId }, from);
  return { user, isRight, giveBack };
}

export type Opening = {
  userId: UserId;
  organizationId: OrganizationId;
  /** The proof of who it is. If it no longer holds, nothing is opened. */
  proof?: { passwordHash: string } | { session: SessionPlace } | undefined;
};

/** Opens a session for a user whose identity is proven. Throws UNAUTHENTICATED when the proof or the membership was made void meanwhile, RATE_LIMITED after too many. */
export async function openSession(
  auth: Auth,
  { userId, organizationId, proof }: Opening,
  { address, client, userAgent }: LoginFrom,
): Promise<SignedIn> {
  auth.signIns.count(userId);
  const id: SessionId = newId();
  const refreshToken = makeRefreshToken(auth.refreshKey, { sessionId: id, generation: 1, account: accountOf(userId) });
  const session: NewSession = {
    id,
    organizationId,
    userId,
    client,
    secretHash: hashToken(refreshToken),
    address: shownText(address, LIMITS.addressCharacters),
    userAgent: userAgent === undefined ? null : shownText(userAgent, LIMITS.userAgentCharacters),
    now: auth.clock.now(),
  };
  const ended = await auth.database.transaction(async (query) => {
    const passwordHash = await holdUser(query, userId);
    if (proof && "passwordHash" in proof && proof.passwordHash !== passwordHash) throw wrongLogin();
    if (proof && "session" in proof && !(await isLive(query, proof.session))) throw notSignedIn();
    if (!(await isMember(query, organizationId, userId)))
      throw new Refusal("UNAUTHENTICATED", "the membership ended at this moment: sign in again");
    const others = await insertSession(query, session);
    const who = { organizationId, actor: { kind: "user", id: userId } as const, from: { address, userAgent } };
    const subject = { kind: "session", id } as const;
    await record(query, who, session.now, { action: "signed_in", subject, detail: { client } });
    return others;
  }, organizationId);
  for (const one of ended) auth.sessions.invalidate(one.organizationId, one.id);
  return issueTokens(auth, { id, userId, organizationId, client }, refreshToken);
}

/** `organizationId`: the one last used, or else the first one joined; null: a member of none. */
export type Login = { id: UserId; email: string; passwordHash: string; organizationId: OrganizationId | null };

export async function findLogin(database: Database, email: string): Promise<Login | undefined> {
  const [row] = await database.query(
    `select u.id, u.email, u.password_hash, m.organization_id
       from users u left join members m on m.user_id = u.id
      where lower(u.email) = lower($1)
      order by m.organization_id is not distinct from u.last_organization_id desc, m.created_at, m.organization_id
      limit 1`,
    [email],
    "strangers",
  );
  return row && { id: row.id, email: row.email, passwordHash: row.password_hash, organizationId: row.organization_id };
}
