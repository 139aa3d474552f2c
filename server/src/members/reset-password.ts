import { readReset } from "../auth/accounts/password-reset-store.ts";
import { storePassword } from "../auth/accounts/store-password.ts";
import { passwordProblem, refuseProblems } from "../auth/names.ts";
import type { LoginFrom } from "../auth/sessions/login.ts";
import { notFound } from "../lib/errors.ts";
import { readToken } from "./link-token.ts";
import type { Members } from "./members.ts";
import { resetLinksOf } from "./request-password-reset.ts";

/**
 * Sets a new password by a mailed link, and ends all sessions of its user: a thief of the former password is out. Throws
 * BAD_USER_INPUT for a password that is not one, which leaves the link good, NOT_FOUND in the same words for a link that is wrong, used or
 * too old, and RATE_LIMITED.
 */
export async function resetPassword(
  members: Members,
  { token, password }: { token: string; password: string },
  from: LoginFrom,
): Promise<{ email: string }> {
  const { auth } = members;
  refuseProblems([passwordProblem(password, "input.password")]);
  const secretHash = readToken(resetLinksOf(members), token);
  const reset = secretHash && (await readReset(auth.database, secretHash, auth.clock.now()));
  if (!reset) throw notFound("Link");
  const { userId, email } = reset;
  auth.signIns.count(userId);
  const isStored = await storePassword(auth, {
    userId,
    passwordHash: await auth.passwords.hash(password),
    link: secretHash,
    action: "password_reset",
    by: { actor: { kind: "user", id: userId }, from },
  });
  if (!isStored) throw notFound("Link");
  await auth.knownAddresses.note({ id: userId, email }, from.address);
  return { email };
}
