/** The room's handle for tests of what queues mails. */
import { quiet } from "../auth/handle/auth.testsuite.ts";
import { parseSmtpUrl } from "../lib/mail/smtp-server.ts";
import { MAIL_RECIPIENTS_PER_DAY } from "../rates/plans.ts";
import { createMail, type Mail } from "./mail.ts";

/** An `SMTP_URL` at which nobody answers: mails wait in the outbox. */
export const UNANSWERED = "smtp://127.0.0.1:1";

/** `url`: as `SMTP_URL`; undefined: the server sends no mail. */
export function openMail({ database, clock }: Pick<Mail, "database" | "clock">, url: string | undefined): Mail {
  const server = url === undefined ? undefined : parseSmtpUrl(url);
  if (typeof server === "string") throw new Error(server);
  return createMail({
    database,
    clock,
    log: quiet,
    random: () => 1,
    own: server && { server, from: { name: "", address: "agents@example.org" } },
    derive: (purpose) => Buffer.alloc(32, purpose),
    recipientsPerDay: MAIL_RECIPIENTS_PER_DAY,
  });
}
