/** The way of an agent's mail: at once, as a step of its run, which has its own retries. */
import { Slots } from "../fairness/slots.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { MailFailure } from "./failure.ts";
import type { Mail } from "./mail.ts";
import { takeRecipients } from "./recipients.ts";
import type { Letter, Sent } from "./transport.ts";

export type AuthorsLetter = Omit<Letter, "messageId" | "date">;

/**
 * `key`: what the `Message-ID` is made of, the same for each attempt. `letterOf` is called in the mail's turn, so none that waits
 * holds decoded attachments. Throws MailFailure, and what `letterOf` throws.
 */
export type SendNow = (
  organizationId: OrganizationId,
  key: string,
  letterOf: () => AuthorsLetter,
  signal: AbortSignal,
) => Promise<Sent>;

const OWN_SHARE = 0.5;

export function createSendNow(mail: Mail): SendNow {
  const slots = new Slots(LIMITS.emailsAtOnce, OWN_SHARE);
  return async (organizationId, key, letterOf, signal) => {
    const { transport, database, clock } = mail;
    if (!transport) throw new MailFailure("unset", "mail is not configured: set SMTP_URL and MAIL_FROM", {});
    if (!(await slots.take(organizationId, signal))) throw new MailFailure("stopped", "sending was stopped", {});
    try {
      const letter = letterOf();
      const recipients = letter.to.length + (letter.cc?.length ?? 0) + (letter.bcc?.length ?? 0);
      const query: typeof database.query = (text, values) => database.query(text, values, organizationId);
      if (!(await takeRecipients(mail, query, { organizationId, recipients })))
        throw new MailFailure("limit", "the organization's mails have no recipients left today, by its plan", {});
      const date = new Date(clock.now());
      return await transport.send({ ...letter, date, messageId: transport.messageIdOf(key) }, signal);
    } finally {
      slots.release(organizationId);
    }
  };
}
