/**
 * Sends what is queued. A mail is taken for a while by one process, sent, and deleted when the server has accepted it. A process that
 * dies between the server's answer and that statement leaves the mail to be sent again, with the same `Message-ID`.
 */
import { Slots } from "../fairness/slots.ts";
import { messageOf } from "../lib/errors.ts";
import { NO_ID, type OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { Loop } from "../lib/loops/loop.ts";
import { parseStored } from "../lib/json/json.ts";
import { openText } from "../lib/sealing/seal.ts";
import { MailFailure } from "./failure.ts";
import type { Mail, Outcome } from "./mail.ts";
import {
  correctTimes,
  deleteMail,
  forgetMails,
  giveUpMail,
  nextDue,
  postponeMail,
  releaseMails,
  subjectOf,
  takeMails,
  type TakenMail,
} from "./outbox-store.ts";
import type { Texts } from "./queue-mail.ts";
import { dayOf } from "./recipients.ts";
import type { Transport } from "./transport.ts";

const LOOK_EVERY_MS = 5_000;
const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Longer than a try may take, by the time that its statements take. */
const LEASE_MS = (LIMITS.mailSendSeconds + 60) * SECOND_MS;
/** Waits between tries double from the first to the longest: 15 to 30 s, then up to an hour. */
const FIRST_WAIT_MS = 30 * SECOND_MS;
const LONGEST_WAIT_MS = HOUR_MS;
const OWN_SHARE = 0.5;
/** A mail that is stopped may have been accepted, and would be sent again: those under way get this long. */
const LAST_ANSWERS_MS = 3_000;

class Sending {
  readonly #mail: Mail;
  readonly #transport: Transport;
  readonly #slots = new Slots(LIMITS.mailsAtOnce, OWN_SHARE);
  readonly #underWay = new Map<Promise<void>, OrganizationId>();
  readonly #stop = new AbortController();
  /** No other process can hold claims. */
  #isFirst: boolean;
  #after: string = NO_ID;
  #tidiedAt = 0;
  loop: Loop;

  constructor(mail: Mail, transport: Transport) {
    this.#mail = mail;
    this.#transport = transport;
    this.#isFirst = mail.database.isEmbedded;
    this.loop = new Loop({
      clock: mail.clock,
      log: mail.log,
      name: "mails",
      everyMs: LOOK_EVERY_MS,
      look: (round) => this.#look(() => round.goesOn()),
      failed: "mails were not taken from the outbox; trying again",
    });
  }

  async #look(goesOn: () => boolean): Promise<number | void> {
    const { database, clock } = this.#mail;
    if (this.#isFirst) await releaseMails(database);
    this.#isFirst = false;
    await this.#tidy();
    while (this.#slots.free > 0 && goesOn()) {
      const now = clock.now();
      const taken = await takeMails(database, {
        now,
        until: now + LEASE_MS,
        without: this.#withShare(),
        after: this.#after,
        most: this.#slots.free,
      });
      for (const mail of taken) this.#begin(mail);
      // The end of a send wakes the loop for an organization that has its share under way.
      if (taken.length === 0) return nextDue(database, this.#withShare());
    }
  }

  /** The organizations that have their share under way. */
  #withShare(): OrganizationId[] {
    return [...new Set(this.#underWay.values())].filter((id) => this.#slots.leftOf(id) <= 0);
  }

  #begin(taken: TakenMail): void {
    const { organizationId } = taken;
    if (!this.#slots.tryTake(organizationId)) return;
    this.#after = organizationId;
    const sending = this.#send(taken)
      // The lease ends by itself.
      .catch((error: unknown) => this.#mail.log.warn({ reason: messageOf(error) }, "a mail's outcome was not written"))
      .finally(() => {
        this.#underWay.delete(sending);
        this.#slots.release(organizationId);
        if (!this.#stop.signal.aborted) this.loop.wake();
      });
    this.#underWay.set(sending, organizationId);
  }

  async #send(taken: TakenMail): Promise<void> {
    const { database, clock, log, figures } = this.#mail;
    const about = { organization: taken.organizationId, mail: taken.id, kind: taken.kind };
    const begunAt = performance.now();
    const failure = await this.#try(taken);
    figures.seconds.since(begunAt);
    const now = clock.now();
    if (failure === undefined) {
      await deleteMail(database, taken);
      return this.#count("sent");
    }
    if (failure.kind === "stopped")
      return void (await postponeMail(database, taken, { dueAt: now, problem: failure.message }));
    const dueAt = now + this.#waitMs(taken.tries);
    const problem = failure.message;
    if (!failure.isPermanent && dueAt < taken.expiresAt.getTime()) {
      await postponeMail(database, taken, { dueAt, problem });
      log.warn({ ...about, reason: problem }, "a mail was not sent; it will be tried again");
      return this.#count("to_retry");
    }
    await giveUpMail(database, taken, { at: now, problem });
    log.warn({ ...about, reason: problem }, "a mail was given up");
    this.#count("given_up");
  }

  #count(outcome: Outcome): void {
    this.#mail.figures.outcomes[outcome]++;
  }

  /** Undefined: the server has accepted it. */
  async #try(taken: TakenMail): Promise<MailFailure | undefined> {
    const sealed = await openText(taken.sealed, subjectOf(taken), () => this.#mail.key);
    if (sealed === undefined)
      return new MailFailure("refused", "it was sealed with another key, or changed", { status: 554 });
    const { subject, text, html } = parseStored(sealed) as Texts;
    const letter = {
      messageId: taken.messageId,
      date: taken.queuedAt,
      to: [{ name: "", address: taken.recipient }],
      subject,
      text,
      html,
    };
    try {
      await this.#transport.send(letter, this.#stop.signal);
      return undefined;
    } catch (error) {
      if (error instanceof MailFailure) return error;
      throw error;
    }
  }

  #waitMs(tries: number): number {
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(tries, 20));
    return wait * (0.5 + this.#mail.random() / 2);
  }

  /** At the start, hourly, and when the clock was set back by an hour. */
  async #tidy(): Promise<void> {
    const { database, clock } = this.#mail;
    const now = clock.now();
    if (Math.abs(this.#tidiedAt - now) < HOUR_MS) return;
    this.#tidiedAt = now;
    // Twice the longest: the clocks of processes may differ.
    const latest = { latestDue: now + 2 * LONGEST_WAIT_MS, latestLease: now + 2 * LEASE_MS };
    await correctTimes(database, { now, until: now + LEASE_MS, ...latest });
    await forgetMails(database, now - LIMITS.mailDaysAfterEnd * DAY_MS, dayOf(now - DAY_MS));
  }

  async end(): Promise<void> {
    await this.loop[Symbol.asyncDispose]();
    const late = setTimeout(() => this.#stop.abort(), LAST_ANSWERS_MS);
    await Promise.all(this.#underWay.keys());
    clearTimeout(late);
    this.#stop.abort();
  }
}

/** Sends at the start, when a mail is queued or due again, and looks every 5 s. Undefined without `SMTP_URL`. */
export function sendQueued(mail: Mail): ({ loop: Loop } & AsyncDisposable) | undefined {
  if (!mail.transport) return undefined;
  const sending = new Sending(mail, mail.transport);
  sending.loop.start();
  mail.look = (at) => sending.loop.wake(at);
  return {
    loop: sending.loop,
    async [Symbol.asyncDispose]() {
      mail.look = () => {};
      await sending.end();
    },
  };
}
