/** Why a mail was not sent, in a sentence for an operator or an author. */
import { LIMITS } from "../lib/limits.ts";
import type { SmtpServer } from "../lib/mail/smtp-server.ts";
import { shownText } from "../lib/text.ts";

export type FailureKind =
  /** The server was not reached, or gave no answer. */
  | "connection"
  /** It was late. */
  | "timeout"
  /** No encryption that can be trusted. */
  | "tls"
  /** The user and password of `SMTP_URL`. */
  | "credentials"
  /** The server's answer was no: to the sender, to every recipient, or to the letter. */
  | "refused"
  /** There is no `SMTP_URL`. */
  | "unset"
  /** The organization's recipients of the day are used up. */
  | "limit"
  /** The caller ended it. */
  | "stopped";

export class MailFailure extends Error {
  readonly kind: FailureKind;
  /** The reply code of SMTP; undefined if there was no reply. */
  readonly status: number | undefined;
  /** The server's words. */
  readonly response: string | undefined;

  constructor(
    kind: FailureKind,
    message: string,
    answer: { status?: number | undefined; response?: string | undefined },
  ) {
    super(message);
    this.name = "MailFailure";
    this.kind = kind;
    this.status = answer.status;
    this.response = answer.response;
  }

  /** Whether the same letter would be refused again, so there is no use in another try. 503 is about the session, not the letter. */
  get isPermanent(): boolean {
    return this.kind === "refused" && this.status !== undefined && this.status >= 500 && this.status !== 503;
  }
}

/** The fields of nodemailer's errors, and of Node's. */
type Thrown = {
  message?: unknown;
  code?: unknown;
  errno?: unknown;
  syscall?: unknown;
  command?: unknown;
  response?: unknown;
  responseCode?: unknown;
};

const RESPONSE_CHARACTERS = 500;

/** Node's and OpenSSL's words for a certificate that nobody trusts. */
const CERTIFICATE = /certificate|altnames|issuer/i;
const UNREACHABLE = [
  ["ECONNREFUSED", "nothing listens there"],
  ["EHOSTUNREACH", "there is no way to that host"],
  ["ENETUNREACH", "there is no way to that network"],
  ["ECONNRESET", "the connection was cut"],
] as const;

export function mailFailure(
  error: unknown,
  server: SmtpServer,
  { isLate, isStopped }: { isLate: boolean; isStopped: boolean },
): MailFailure {
  const thrown = error as Thrown;
  const name = `${server.host}:${server.port}`;
  const status = typeof thrown.responseCode === "number" ? thrown.responseCode : undefined;
  const response = typeof thrown.response === "string" ? shown(thrown.response, server) : undefined;
  const failure = (kind: FailureKind, message: string): MailFailure =>
    new MailFailure(kind, message, { status, response });
  if (isStopped) return failure("stopped", "sending was stopped");
  if (isLate) return failure("timeout", `${name} took longer than ${LIMITS.mailSendSeconds} s for a mail`);
  const said = response === undefined ? "" : `: ${response}`;
  const message = shown(typeof thrown.message === "string" ? thrown.message : String(error), server);
  switch (thrown.code) {
    case "EAUTH":
    case "ENOAUTH":
      return failure("credentials", `${name} refused the user and password of SMTP_URL${said || `: ${message}`}`);
    case "EDNS":
      return failure("connection", `the host ${server.host} of SMTP_URL was not found: ${message}`);
    case "ETLS":
      return failure("tls", `${name} offers no encryption that can be trusted: ${message}${hintOf(server)}`);
    case "ETIMEDOUT":
      return failure("timeout", `${name} did not answer in time (${message})`);
    default:
  }
  if (status !== undefined && (thrown.code === "EENVELOPE" || thrown.code === "EMESSAGE"))
    return failure("refused", `${name} refused ${REFUSED.get(thrown.command) ?? "the mail"}${said}`);
  if (CERTIFICATE.test(message)) return failure("tls", `the certificate of ${name} is not trusted: ${message}`);
  const [, why = message] = UNREACHABLE.find(([code]) => message.includes(code)) ?? [];
  return failure("connection", `${name} cannot be reached: ${why}`);
}

const REFUSED = new Map<unknown, string>([
  ["MAIL FROM", "the sender, which is MAIL_FROM"],
  ["RCPT TO", "the recipients"],
]);

const hintOf = ({ tls }: SmtpServer): string =>
  tls === "starttls" ? " (smtps:// is TLS from the first byte, ?tls=none sends unencrypted)" : "";

/** Without a password that the server repeats, and what would break a line. */
function shown(text: string, { user, password }: SmtpServer): string {
  let hidden = text;
  if (password !== undefined)
    for (const secret of [password, base64(password), base64(`\0${user}\0${password}`)])
      hidden = hidden.replaceAll(secret, "[password]");
  return shownText(hidden.replaceAll(/\s+/g, " "), RESPONSE_CHARACTERS);
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");
