/**
 * Asking for a new password by e-mail. Whether the address has an account is looked up after the answer: so the answer and its time are
 * the same for every address, and only the mailbox learns which it was.
 */
import { insertReset } from "../auth/accounts/password-reset-store.ts";
import { emailProblem, refuseProblems, tidyName } from "../auth/names.ts";
import { findLogin, type LoginFrom } from "../auth/sessions/login.ts";
import { holdUser } from "../auth/sessions/session-store.ts";
import { conflict, messageOf, Refusal } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";
import { queueMail } from "../mail/queue-mail.ts";
import { hashOf, makeToken, type LinkKind } from "./link-token.ts";
import type { Members } from "./members.ts";

const LIFE_MS = LIMITS.passwordResetMinutes * 60_000;
const RETRY_AFTER_SECONDS = 2;

export const resetLinksOf = ({ resetKey }: Members): LinkKind => ({ prefix: "rst_", key: resetKey });

/**
 * Mails a link to the user who has this address. Nobody learns whether there is one. Throws CONFLICT if the server sends no mail,
 * BAD_USER_INPUT, and RATE_LIMITED by the address that is asked for and the one that asks, as `login` does.
 */
export async function requestPasswordReset(
  members: Members,
  input: { email: string },
  from: Pick<LoginFrom, "address">,
): Promise<{ email: string }> {
  const { auth, mail, resets } = members;
  if (!mail.transport)
    throw conflict(
      "mail_not_configured",
      "this server sends no mail: its operator gives a new password with `autograph user reset-password`",
    );
  refuseProblems([emailProblem(input.email, "input.email")]);
  const email = tidyName(input.email);
  const isKnown = await auth.knownAddresses.has(email, from.address);
  await auth.resetThrottle.attempt({ email, address: from.address, isKnown });
  if (resets.size >= LIMITS.passwordResetsAtOnce)
    throw new Refusal(
      "RATE_LIMITED",
      `too many ask for a new password at this moment: try again in ${RETRY_AFTER_SECONDS} s`,
      { retryAfter: RETRY_AFTER_SECONDS },
    );
  const mailing = mailLink(members, email)
    .catch((error: unknown) =>
      auth.log.warn({ reason: messageOf(error) }, "a link to set a new password was not queued"),
    )
    .finally(() => resets.delete(mailing));
  resets.add(mailing);
  return { email };
}

/** Mails only a member of an organization, which the mail belongs to: nobody else can sign in. */
async function mailLink(members: Members, email: string): Promise<void> {
  const { auth, mail, url } = members;
  const user = await findLogin(auth.database, email);
  if (!user?.organizationId) return;
  const { id: userId, organizationId, email: to } = user;
  const token = makeToken(resetLinksOf(members));
  await auth.database.transaction(async (query) => {
    await holdUser(query, userId);
    const now = auth.clock.now();
    const expiresAt = now + LIFE_MS;
    if (!(await insertReset(query, { userId, secretHash: hashOf(token), now, expiresAt }))) return;
    const text = textOf({ email: to, link: `${url}/#password-reset=${token}` });
    const kind = "password_reset";
    const subject = "A new password for Autograph";
    // Rolled back: a link that nobody was mailed would count as open.
    if (!(await queueMail(mail, query, { organizationId, to, kind, subject, text, expiresAt })))
      throw new Error("its mail was refused");
  }, "strangers");
}

const textOf = ({ email, link }: { email: string; link: string }): string =>
  `Somebody asked for a new password for ${email} on Autograph.

Open this link to set one. It works once, within ${LIMITS.passwordResetMinutes} minutes:

${link}

If you did not ask for it, ignore this mail: your password stays as it is.
`;
