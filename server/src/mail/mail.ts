/** The room's handle, the first parameter of each of its operations. */
import type { Clock } from "../lib/clock.ts";
import type { Mailbox } from "../lib/mail/email-address.ts";
import { countsOf, Histogram, type Counts } from "../lib/figures.ts";
import type { Log } from "../lib/log/log.ts";
import type { SmtpServer } from "../lib/mail/smtp-server.ts";
import type { Database } from "../storage/database.ts";
import type { Plan } from "../storage/schema.ts";
import { createTransport, type Transport } from "./transport.ts";

/** The outcome of a try. */
const OUTCOMES = ["sent", "to_retry", "given_up"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** The subject of a mail of the service. */
export type MailKind = "invitation" | "password_reset" | "approval" | "failures";

export type Mail = {
  database: Database;
  clock: Clock;
  log: Log;
  /** From 0 to 1, for jitter. */
  random: () => number;
  /** Undefined: no `SMTP_URL` is set, so nothing is queued or sent. */
  transport: Transport | undefined;
  /** 32 bytes: what seals the texts that wait. */
  key: Buffer;
  /** How many recipients a day each plan allows. */
  recipientsPerDay: Record<Plan, number>;
  /** Asks for a look at the outbox at a time (ms since 1970). Set by `sendQueued`. */
  look: (at: number) => void;
  figures: { outcomes: Counts<Outcome>; seconds: Histogram };
};

type MailOptions = Pick<Mail, "database" | "clock" | "log" | "random" | "recipientsPerDay"> & {
  /** The operator's settings; undefined without them. */
  own: { server: SmtpServer; from: Mailbox } | undefined;
  derive: (purpose: string) => Buffer;
};

export function createMail({ own, derive, ...base }: MailOptions): Mail {
  return {
    ...base,
    transport: own && createTransport(own, base.clock),
    key: derive("mails v1"),
    look: () => {},
    figures: { outcomes: countsOf(OUTCOMES), seconds: Histogram.ofSeconds() },
  };
}
