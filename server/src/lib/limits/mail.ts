/** Limits of mail. */
import { type Limit } from "./limit.ts";

const EMAIL = "server/src/execution/calls/letter.test.ts";
const FAILURES = "server/src/triggers/failures/failures.db.test.ts";
const OUTBOX = "server/src/mail/mail.db.test.ts";

export const MAIL = {
  mailsWaiting: {
    value: 1_000,
    bounds: "mails of an organization that wait to be sent",
    beyond: "a further one is not sent",
    test: [OUTBOX, "an organization has its 1,000 mails waiting and not one more"],
  },
  mailRecipientsPerDay: {
    value: 10_000,
    bounds:
      "recipients that an organization's mails have a day (UTC), `cc` and `bcc` included; its plan may allow fewer",
    beyond: "a mail of the service is not sent; `call: email` fails",
    test: [OUTBOX, "has as many recipients a day as its plan allows, and not one more"],
  },
  mailHours: {
    value: 24,
    bounds: "how long a mail is tried",
    beyond: "it is given up, with the reason of the last try",
    test: [OUTBOX, "is tried for a day, less and less often, and then given up"],
  },
  mailSendSeconds: {
    value: 120,
    bounds: "one try to send a mail, from connecting to the server's last answer",
    beyond: "the try has failed",
    test: ["server/src/mail/transport.test.ts", "that takes longer than a try may is given up"],
  },
  mailsAtOnce: {
    value: 8,
    bounds: "mails of the outbox that a process sends at a time; one organization may have half of them",
    beyond: "further mails wait; organizations take turns",
    test: [OUTBOX, "sends eight at a time, and half of them for one organization"],
  },
  mailDaysAfterEnd: {
    value: 7,
    bounds: "how long a mail that was given up stays, without its text, for `autograph mail list`",
    beyond: "it is deleted",
    test: [OUTBOX, "is listed for seven days"],
  },
  mailSubjectCharacters: {
    value: 250,
    bounds: "the subject of a mail of the service",
    beyond: "it is cut",
    test: [OUTBOX, "250 characters of a subject stay, one more is cut"],
  },
  failureMailMembers: {
    value: 20,
    bounds: "members who get a mail when runs of an agent fail",
    test: [FAILURES, "at most 20 members"],
  },
  failureMailMinutes: {
    value: 60,
    bounds: "the least time between two mails of an agent's failed runs",
    beyond: "further failures are counted in the next one",
    test: [FAILURES, "within an hour of a mail further failures are counted, and mailed in one"],
  },
  emailsAtOnce: {
    value: 16,
    bounds: "mails of `call: email` that a process sends at a time; one organization may have half of them",
    beyond: "further ones wait; organizations take turns",
    test: [OUTBOX, "sends sixteen at a time, and half of them for one organization"],
  },
  emailRecipients: {
    value: 50,
    bounds: "recipients of a `call: email`, `cc` and `bcc` included",
    test: [EMAIL, "fifty recipients"],
  },
  emailSubjectCharacters: {
    value: 500,
    bounds: "the subject of a `call: email`",
    test: [EMAIL, "500 characters of a subject"],
  },
  emailAttachments: {
    value: 10,
    bounds: "attachments of a `call: email`",
    test: [EMAIL, "ten attachments"],
  },
  emailBytes: {
    value: 1024 * 1024,
    bounds: "texts and attachments of a `call: email`, decoded",
    test: [EMAIL, "1 MiB of texts and attachments"],
  },
} satisfies Record<string, Limit>;
