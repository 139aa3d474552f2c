import { Refusal } from "../lib/errors.ts";
import { newId, type OrganizationId, type SessionId, type UserId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Database } from "../storage/database.ts";
import type { Auth } from "./auth.ts";
import type { Client } from "./caller.ts";
import { accountName, isEmail, tidyName } from "./names.ts";
import { hashToken, makeRefreshToken } from "./refresh-token.ts";
import { insertSession } from "./session-store.ts";
import { issueTokens, type SignedIn } from "./session.ts";
import { network, type Attempt } from "./login-throttle.ts";

/** `address` is the client's own, also behind trusted proxies. */
export type LoginFrom = { address: string; client: Client };

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
  const { user, giveBack } = await proveUser(auth, { ...input, email }, from);
  if (!user) throw wrongLogin();
  giveBack();
  if (!user.organizationId) throw new Refusal("FORBIDDEN", "this user is not a member of any organization");
  await auth.knownAddresses.note({ id: user.id, email }, from.address);
  return openSession(auth, { userId: user.id, organizationId: user.organizationId, client: from.client });
}

type Proof = { user: Login; giveBack: () => void };

/**
 * Who has this e-mail (tidy) and password; no `user` when nobody has the e-mail. Throws UNAUTHENTICATED for a wrong password,
 * after the same time. Many may wait here for their turn. An attempt is counted when its turn comes: give it back when it
 * led to something.
 */
export async function proveUser(
  auth: Auth,
  { email, password }: { email: string; password: string },
  { address }: Pick<LoginFrom, "address">,
): Promise<Partial<Proof> & Pick<Proof, "giveBack">> {
  if (password.length > LIMITS.passwordCharactersMost) throw wrongLogin();
  const attempt: Attempt = { email, address, isKnown: await auth.knownAddresses.has(email, address) };
  auth.throttle.check(attempt);
  let giveBack = (): void => {};
  let user: Login | undefined;
  const find = async (): Promise<string | undefined> => {
    giveBack = auth.throttle.attempt(attempt);
    user = await readLogin(auth.database, email);
    return user?.passwordHash;
  };
  const group = attempt.isKnown ? accountName(email) : network(address);
  const matches = await auth.passwords.verify({ group, isKnown: attempt.isKnown }, find, password);
  if (!matches && user) throw wrongLogin();
  return user ? { user, giveBack } : { giveBack };
}

/** Opens a session for a user whose identity is proven. */
export async function openSession(
  auth: Auth,
  who: { userId: UserId; organizationId: OrganizationId; client: Client },
): Promise<SignedIn> {
  const id: SessionId = newId();
  const refreshToken = makeRefreshToken(auth.refreshKey, { sessionId: id, generation: 1 });
  await insertSession(auth.database, { id, ...who, secretHash: hashToken(refreshToken), now: auth.clock.now() });
  return issueTokens(auth, { id, ...who }, refreshToken);
}

type Login = { id: UserId; passwordHash: string; organizationId: OrganizationId | null };

async function readLogin(database: Database, email: string): Promise<Login | undefined> {
  const [row] = await database.query(
    `select u.id, u.password_hash, m.organization_id
       from users u left join members m on m.user_id = u.id
      where lower(u.email) = lower($1)
      order by m.organization_id is not distinct from u.last_organization_id desc, m.created_at, m.organization_id
      limit 1`,
    [email],
    "strangers",
  );
  return row && { id: row.id, passwordHash: row.password_hash, organizationId: row.organization_id };
}
