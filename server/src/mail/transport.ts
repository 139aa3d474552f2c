/**
 * The way to the SMTP server of the operator's choice. Each mail has a connection of its own, so one that hangs keeps no other
 * waiting. The sender is always the operator's.
 */
import { follow } from "../lib/abort.ts";
import type { Clock } from "../lib/clock.ts";
import type { Mailbox } from "../lib/mail/email-address.ts";
import { LIMITS } from "../lib/limits.ts";
import type { SmtpServer } from "../lib/mail/smtp-server.ts";
import { mailFailure } from "./failure.ts";

export type Attachment = { filename: string; contentType: string; content: Buffer };

/** All texts were checked: no header can be smuggled in by them. */
export type Letter = {
  /** With its angle brackets. */
  messageId: string;
  date: Date;
  to: readonly Mailbox[];
  cc?: readonly Mailbox[];
  bcc?: readonly Mailbox[];
  replyTo?: readonly Mailbox[];
  subject: string;
  text?: string | undefined;
  html?: string | undefined;
  attachments?: readonly Attachment[];
};

/** The server's answer. */
export type Sent = { messageId: string; accepted: string[]; rejected: string[]; response: string };

export type Transport = {
  /** As log and errors name it, without a password. */
  name: string;
  from: Mailbox;
  /** The id that a letter has whose key is this. The same for the same key. */
  messageIdOf(key: string): string;
  /** Throws a MailFailure. `signal` ends it, with a failure that says that it was late. */
  send(letter: Letter, signal: AbortSignal): Promise<Sent>;
};

const CONNECT_MS = 20_000;
/** A server's answer is a line or two. */
const ANSWER_BYTES = 64 * 1_024;

export function createTransport({ server, from }: { server: SmtpServer; from: Mailbox }, clock: Clock): Transport {
  const { host, port, tls, user, password } = server;
  const domain = from.address.slice(from.address.lastIndexOf("@") + 1);
  const options = {
    host,
    port,
    secure: tls === "wrapped",
    requireTLS: tls === "starttls",
    ignoreTLS: tls === "none",
    ...(user !== undefined && { auth: { user, pass: password! }, forceAuth: true }),
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    dnsTimeout: CONNECT_MS,
    // The time for a try bounds its silence too: a spam filter may think for a minute before the last answer.
    socketTimeout: 2 * LIMITS.mailSendSeconds * 1_000,
    maxResponseSize: ANSWER_BYTES,
    allowInternalNetworkInterfaces: true,
    // A letter has its content: nothing is read from the disk or the network for it.
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  const open = async () => (await import("nodemailer")).createTransport(options);
  let opening: ReturnType<typeof open> | undefined;
  return {
    name: `${host}:${port}`,
    from,
    messageIdOf: (key) => `<${key}@${domain}>`,
    async send(letter, signal) {
      using limit = follow(signal);
      let isLate = false;
      const deadline = clock.at(clock.now() + LIMITS.mailSendSeconds * 1_000, () => {
        isLate = true;
        limit.abort(undefined);
      });
      try {
        opening ??= open();
        const transporter = await opening;
        const { accepted, rejected, response } = await transporter.sendMail({
          ...mailOf(letter, from),
          signal: limit.signal,
        });
        return { messageId: letter.messageId, accepted: textsOf(accepted), rejected: textsOf(rejected), response };
      } catch (error) {
        throw mailFailure(error, server, { isLate, isStopped: signal.aborted });
      } finally {
        deadline[Symbol.dispose]();
      }
    },
  };
}

const textsOf = (addresses: readonly unknown[]): string[] => addresses.map(String);

const mailOf = ({ to, cc, bcc, replyTo, attachments, ...rest }: Letter, from: Mailbox) => ({
  ...rest,
  from,
  to: [...to],
  ...(cc && { cc: [...cc] }),
  ...(bcc && { bcc: [...bcc] }),
  ...(replyTo && { replyTo: [...replyTo] }),
  ...(attachments && { attachments: [...attachments] }),
  // RFC 3834: no vacation responder answers.
  headers: { "Auto-Submitted": "auto-generated" },
});
