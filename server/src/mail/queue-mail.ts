/** The way of a mail of the service: a row of the outbox, written in the transaction that makes it true. */
import { isEmail } from "../lib/mail/email-address.ts";
import { newIdAt, type OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { sealText } from "../lib/sealing/seal.ts";
import type { Query } from "../storage/database.ts";
import type { Mail, MailKind } from "./mail.ts";
import { insertMail, subjectOf } from "./outbox-store.ts";
import { takeRecipients } from "./recipients.ts";

export type QueuedMail = {
  organizationId: OrganizationId;
  to: string;
  kind: MailKind;
  subject: string;
  text: string;
  html?: string | undefined;
  /** There is no use in it after this (ms since 1970), as after a link's end. Default: a day from now. */
  expiresAt?: number;
};

/** The part that lies sealed. */
export type Texts = Pick<QueuedMail, "subject" | "text" | "html">;

export const KEY_ID = "1";
const HOUR_MS = 3_600_000;
/** The transaction has committed by then, mostly; if it has not, the loop comes by. */
const SOON_MS = 50;

/**
 * Queues a mail within the caller's transaction: it is sent if that commits, by whichever process takes it. False, and nothing is
 * queued: mail is not configured, the organization has too many waiting, or its day's recipients are used up.
 */
export async function queueMail(mail: Mail, query: Query, queued: QueuedMail): Promise<boolean> {
  const { transport, clock, key, log } = mail;
  const { organizationId, to, kind, expiresAt = Infinity } = queued;
  if (!transport || !isEmail(to)) return false;
  const now = clock.now();
  const id = newIdAt<"mail">(now);
  const subject = queued.subject.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ").trim();
  const texts: Texts = {
    subject: subject.slice(0, LIMITS.mailSubjectCharacters),
    text: queued.text,
    html: queued.html,
  };
  const sealed = await sealText(JSON.stringify(texts), subjectOf({ organizationId, id }), KEY_ID, key);
  const take = (recipients: number) => takeRecipients(mail, query, { organizationId, recipients });
  const refuse = (why: string): false => {
    log.warn({ organization: organizationId, kind }, why);
    return false;
  };
  // First, since it locks: no other transaction counts the organization's waiting mails before this one ends.
  const recipients = isFree(kind) ? 0 : 1;
  if (!(await take(recipients))) return refuse("a mail over the day's recipients was not queued");
  const isQueued = await insertMail(query, {
    organizationId,
    id,
    kind,
    recipient: to,
    messageId: transport.messageIdOf(id),
    sealed,
    queuedAt: now,
    expiresAt: Math.min(expiresAt, now + LIMITS.mailHours * HOUR_MS),
  });
  if (!isQueued) {
    await take(-recipients);
    return refuse("a mail was not queued: too many wait");
  }
  mail.look(now + SOON_MS);
  return true;
}

/** A stranger may ask for it, so it must not use up what an organization may send; it has limits of its own. */
const isFree = (kind: MailKind): boolean => kind === "password_reset";
