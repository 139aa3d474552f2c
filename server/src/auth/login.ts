import { Refusal } from "../lib/errors.ts";
import { newId, type OrganizationId, type SessionId, type UserId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Database } from "../storage/database.ts";
import type { Auth } from "./auth.ts";
import type { Client } from "./caller.ts";
import { accountName, isEmail, tidyName } from "./names.ts";
import { hashToken, makeRefreshToken } from "./refresh-token.ts";
import { insertSession } from "./session-store.ts";
import { signedInAs, type SignedIn } from "./session.ts";
import { network, type Attempt } from "./login-throttle.ts";

/** `address` is the client's, behind trusted proxies already resolved. */
export type LoginFrom = { address: string; client: Client };

const refused = (): Refusal => new Refusal("UNAUTHENTICATED", "the e-mail or the password is wrong");

/**
 * Signs in to the organization last used, else to the first joined. Throws UNAUTHENTICATED (the same, after the same
 * time, for an unknown e-mail and a wrong password), RATE_LIMITED with `retryAfter`, or FORBIDDEN for a user who is a
 * member of nothing.
 */
export async function login(
  auth: Auth,
  input: { email: string; password: string },
  from: LoginFrom,
): Promise<SignedIn> {
  const email = tidyName(input.email);
  if (!isEmail(email) || input.password.length > LIMITS.passwordCharactersMost) throw refused();
  const attempt = { email, address: from.address, isKnown: await auth.knownAddresses.has(email, from.address) };
  auth.throttle.check(attempt);
  const { user, giveBack } = await proveUser(auth, attempt, input.password);
  giveBack();
  if (!user.organizationId) throw new Refusal("FORBIDDEN", "this user is not a member of any organization");
  await auth.knownAddresses.note({ id: user.id, email }, from.address);
  return openSession(auth, { userId: user.id, organizationId: user.organizationId, client: from.client });
}

type Proof = { user: Login; giveBack: () => void };

/** Many may wait here for their turn; the attempt is counted when it comes. */
async function proveUser(auth: Auth, attempt: Attempt, password: string): Promise<Proof> {
  let proof: Partial<Proof> = {};
  const find = async (): Promise<string | undefined> => {
    const giveBack = auth.throttle.attempt(attempt);
    const user = await readLogin(auth.database, attempt.email);
    if (user) proof = { user, giveBack };
    return user?.passwordHash;
  };
  const group = attempt.isKnown ? accountName(attempt.email) : network(attempt.address);
  const matches = await auth.passwords.verify({ group, isKnown: attempt.isKnown }, find, password);
  if (!matches) throw refused();
  return proof as Proof;
}

/** A new session, for one whose identity is proven. */
export async function openSession(
  auth: Auth,
  who: { userId: UserId; organizationId: OrganizationId; client: Client },
): Promise<SignedIn> {
  const id: SessionId = newId();
  const refreshToken = makeRefreshToken(auth.refreshKey, { sessionId: id, generation: 1 });
  await insertSession(auth.database, { id, ...who, secretHash: hashToken(refreshToken), now: auth.clock.now() });
  return signedInAs(auth, { id, ...who }, refreshToken);
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
