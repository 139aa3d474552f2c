/** The outbox, on a real database and against a real SMTP server. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { headerOf, reply, startSmtp, type Smtp } from "../../../test/smtp.ts";
import { eventually } from "../../../test/client.ts";
import { makeOwner, openAuth, startDatabases, type Databases, type TestAuth } from "../auth/handle/auth.testsuite.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { MAIL_RECIPIENTS_PER_DAY } from "../rates/plans.ts";
import type { Database } from "../storage/database.ts";
import type { Plan } from "../storage/schema.ts";
import { listMails } from "./list-mails.ts";
import type { Mail } from "./mail.ts";
import { openMail } from "./mail.testsuite.ts";
import { queueMail, type QueuedMail } from "./queue-mail.ts";
import { takeRecipients } from "./recipients.ts";
import { createSendNow } from "./send-now.ts";
import { sendQueued } from "./send-queued.ts";

const HOUR = 3_600_000;
const stack = new AsyncDisposableStack();
let databases: Databases;
let database: Database;
let auth: TestAuth;
let smtp: Smtp;
let mail: Mail;

beforeAll(async () => {
  databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
  auth = openAuth(database);
  smtp = stack.use(await startSmtp());
  mail = mailTo(`smtp://127.0.0.1:${smtp.port}`);
});
afterAll(() => stack.disposeAsync());
afterEach(async () => {
  smtp.received.splice(0);
  for (const name of Object.keys(smtp.behaviour)) delete smtp.behaviour[name as keyof Smtp["behaviour"]];
  await database.query("delete from mails where organization_id is not null");
});

const mailTo = (url: string | undefined): Mail => openMail(auth, url);

const organization = async (plan: Plan = "enterprise"): Promise<OrganizationId> => {
  const { organizationId } = (await makeOwner(auth)).caller;
  await database.query("update organizations set plan = $2 where id = $1", [organizationId, plan]);
  return organizationId;
};
const queue = (organizationId: OrganizationId, own: Partial<QueuedMail> = {}, by = mail): Promise<boolean> =>
  database.transaction((query) =>
    queueMail(by, query, {
      organizationId,
      to: "ada@example.com",
      kind: "invitation",
      subject: "Hello",
      text: "Good morning.",
      ...own,
    }),
  );
/** Moves the clock until something is so. */
const passing = async (ms: number, isSo: () => boolean | Promise<boolean>): Promise<void> => {
  await eventually(async () => {
    if (await isSo()) return true;
    auth.clock.pass(ms);
    return isSo();
  });
};
const rowsOf = (organizationId: OrganizationId) =>
  database.query("select * from mails where organization_id = $1 order by id", [organizationId]);
const fillOutbox = (organizationId: OrganizationId, count: number) =>
  database.query(
    `insert into mails (organization_id, id, kind, recipient, message_id, sealed, queued_at, expires_at, due_at)
     select $1, gen_random_uuid(), 'invitation', 'a@example.com', 'm', 'sealed', $2, $2, $2 from generate_series(1, $3::int)`,
    [organizationId, new Date(auth.clock.now()), count],
  );

test("a mail is sent once its transaction commits, and is gone from the outbox; one that is rolled back is never sent", async () => {
  const organizationId = await organization();
  await using sending = sendQueued(mail)!;
  await expect(
    database.transaction(async (query) => {
      const asked = { organizationId, to: "never@example.com", kind: "approval", subject: "s", text: "t" } as const;
      expect(await queueMail(mail, query, asked)).toBe(true);
      throw new Error("rolled back");
    }),
  ).rejects.toThrow("rolled back");
  expect(await queue(organizationId, { subject: "Line\r\nBcc: evil@example.com", html: "<p>Hi</p>" })).toBe(true);
  await passing(100, () => smtp.received.length > 0);
  await eventually(async () => (await rowsOf(organizationId)).length === 0);
  expect(smtp.received).toMatchObject([{ from: "agents@example.org", to: ["ada@example.com"] }]);
  expect(headerOf(smtp.received[0]!, "Subject")).toBe("Line Bcc: evil@example.com");
  expect(headerOf(smtp.received[0]!, "Message-ID")).toMatch(/^<[0-9a-f-]{36}@example\.org>$/);
  expect(smtp.received[0]!.raw).toContain("<p>Hi</p>");
  expect(sending.loop.name).toBe("mails");
});

test("without SMTP_URL nothing is queued, and to what is no address neither", async () => {
  const organizationId = await organization();
  expect(await queue(organizationId, {}, mailTo(undefined))).toBe(false);
  for (const to of ["ada@example.com\r\nRCPT TO:<eve@example.com>", "a, b@example.com", "<a@example.com>", ""])
    expect(await queue(organizationId, { to })).toBe(false);
  expect(await rowsOf(organizationId)).toEqual([]);
  expect(sendQueued(mailTo(undefined))).toBeUndefined();
});

test("the texts of a mail that waits can't be read in the database, and open in their own row alone", async () => {
  const organizationId = await organization();
  const other = await organization();
  await queue(organizationId, { subject: "planted-subject", text: "planted-text", html: "planted-html" });
  await queue(other);
  const [row] = await database.query("select m::text as row, sealed from mails m where organization_id = $1", [
    organizationId,
  ]);
  expect(row!["row"]).not.toMatch(/planted/);
  await database.query("update mails set sealed = $2 where organization_id = $1", [other, row!["sealed"]]);
  await using sending = sendQueued(mail)!;
  await eventually(async () => (await rowsOf(other))[0]?.["gave_up_at"] !== null && smtp.received.length === 1);
  expect((await rowsOf(other))[0]).toMatchObject({
    problem: "it was sealed with another key, or changed",
    sealed: null,
  });
  expect(sending).toBeDefined();
});

test("a mail that is refused for now is tried for a day, less and less often, and then given up", async () => {
  const organizationId = await organization();
  let tries = 0;
  smtp.behaviour.onRecipient = () => {
    tries++;
    throw reply(450, "greylisted");
  };
  await queue(organizationId);
  const queuedAt = auth.clock.now();
  const waits: number[] = [];
  await using sending = sendQueued(mail)!;
  let row = (await rowsOf(organizationId))[0]!;
  while (row["gave_up_at"] === null) {
    const done = row["tries"] as number;
    auth.clock.pass(Math.max(0, (row["due_at"] as Date).getTime() - auth.clock.now()));
    sending.loop.wake();
    await eventually(async () => (row = (await rowsOf(organizationId))[0]!)["tries"] > done);
    expect(row["problem"]).toContain("450 greylisted");
    waits.push((row["due_at"] as Date).getTime() - auth.clock.now());
  }
  expect(waits.slice(0, 4).map((ms) => Math.round(ms / 1_000))).toEqual([30, 60, 120, 240]);
  expect(tries).toBeGreaterThan(25);
  expect(row).toMatchObject({ sealed: null });
  const lasted = (row["gave_up_at"] as Date).getTime() - queuedAt;
  expect(lasted).toBeGreaterThan(22 * HOUR);
  expect(lasted).toBeLessThanOrEqual(LIMITS.mailHours * HOUR);
  expect(mail.figures.outcomes).toMatchObject({ given_up: expect.any(Number) as number });
  expect(sending).toBeDefined();
});

test("a mail that is refused for good is given up at once, and is listed for seven days", async () => {
  const organizationId = await organization();
  smtp.behaviour.onMail = () => {
    throw reply(554, "looks like spam");
  };
  await queue(organizationId);
  await using sending = sendQueued(mail)!;
  await eventually(async () => (await rowsOf(organizationId))[0]?.["gave_up_at"] !== null);
  const listed = await listMails(database, 10);
  expect(listed.items).toMatchObject([
    { state: "given up", kind: "invitation", recipient: "ada@example.com", tries: 1 },
  ]);
  expect(listed.items[0]!.problem).toContain("554 looks like spam");
  auth.clock.pass(LIMITS.mailDaysAfterEnd * 24 * HOUR - HOUR);
  const before = sending.loop.timesRound;
  sending.loop.wake();
  await eventually(() => sending.loop.timesRound > before && !sending.loop.isLooking);
  expect(await rowsOf(organizationId)).toHaveLength(1);
  await passing(2 * HOUR, async () => (await rowsOf(organizationId)).length === 0);
});

test("a mail of which there is no use any longer is not tried beyond its time", async () => {
  const organizationId = await organization();
  smtp.behaviour.onRecipient = () => {
    throw reply(450, "later");
  };
  await queue(organizationId, { kind: "password_reset", expiresAt: auth.clock.now() + 20_000 });
  await using sending = sendQueued(mail)!;
  await eventually(async () => (await rowsOf(organizationId))[0]?.["gave_up_at"] !== null);
  expect(sending).toBeDefined();
});

test("of two processes one sends; what a process that died has taken is sent by another when its lease is over", async () => {
  const organizationId = await organization();
  const [first, second] = [mailTo(`smtp://127.0.0.1:${smtp.port}`), mailTo(`smtp://127.0.0.1:${smtp.port}`)];
  const hanging = Promise.withResolvers<void>();
  const waits = Promise.withResolvers<void>();
  smtp.behaviour.onMail = () => (waits.resolve(), hanging.promise);
  await queue(organizationId);
  {
    await using one = sendQueued(first)!;
    await waits.promise;
    const connections = smtp.connections;
    await using two = sendQueued(second)!;
    two.loop.wake();
    await eventually(() => !two.loop.isLooking);
    expect(smtp.connections).toBe(connections);
    expect((await rowsOf(organizationId))[0]!["taken_until"]).not.toBeNull();
    delete smtp.behaviour.onMail;
    hanging.resolve();
    await eventually(async () => (await rowsOf(organizationId)).length === 0);
    expect(smtp.received).toHaveLength(1);
    expect(one).toBeDefined();
  }
  await queue(organizationId);
  await database.query("update mails set taken_until = $2 where organization_id = $1", [
    organizationId,
    new Date(auth.clock.now() + 60_000),
  ]);
  await using third = sendQueued(second)!;
  await eventually(() => !third.loop.isLooking);
  expect(smtp.received).toHaveLength(1);
  await passing(20_000, () => smtp.received.length === 2);
});

test("sends eight at a time, and half of them for one organization", async () => {
  const hanging = Promise.withResolvers<void>();
  smtp.behaviour.onMail = () => hanging.promise;
  const greedy = await organization();
  for (let index = 0; index < LIMITS.mailsAtOnce + 2; index++) await queue(greedy);
  await using sending = sendQueued(mail)!;
  await eventually(() => smtp.open === LIMITS.mailsAtOnce / 2);
  const others = [await organization(), await organization(), await organization()];
  for (const other of others) for (let index = 0; index < 2; index++) await queue(other);
  await passing(100, () => smtp.open === LIMITS.mailsAtOnce);
  sending.loop.wake();
  await eventually(() => !sending.loop.isLooking);
  expect(smtp.open).toBe(LIMITS.mailsAtOnce);
  const taken = await database.query(
    "select organization_id, count(*) from mails where organization_id is not null and taken_until is not null group by 1",
  );
  expect(taken.find((row) => row["organization_id"] === greedy)!["count"]).toBe(LIMITS.mailsAtOnce / 2);
  expect(taken.reduce((sum, row) => sum + (row["count"] as number), 0)).toBe(LIMITS.mailsAtOnce);
  expect(taken.length).toBeGreaterThan(1);
  delete smtp.behaviour.onMail;
  hanging.resolve();
  await passing(100, () => smtp.received.length === LIMITS.mailsAtOnce + 2 + 6);
});

test("while an organization has its share under way, its further mails don't keep the loop looking", async () => {
  const hanging = Promise.withResolvers<void>();
  smtp.behaviour.onMail = () => hanging.promise;
  const greedy = await organization();
  for (let index = 0; index < LIMITS.mailsAtOnce; index++) await queue(greedy);
  await using sending = sendQueued(mail)!;
  await eventually(() => smtp.open === LIMITS.mailsAtOnce / 2);
  const before = sending.loop.timesRound;
  for (let index = 0; index < 50; index++) await rowsOf(greedy);
  expect(sending.loop.timesRound - before).toBeLessThan(5);
  delete smtp.behaviour.onMail;
  hanging.resolve();
  await eventually(() => smtp.received.length === LIMITS.mailsAtOnce);
});

test("a clock that was set back by a day holds up neither a mail that waits nor one that a dead process has taken", async () => {
  const organizationId = await organization();
  await queue(organizationId, { subject: "waits" });
  await queue(organizationId, { subject: "taken" });
  await database.query(
    "update mails set taken_until = $2 where organization_id = $1 and id = (select max(id::text)::uuid from mails where organization_id = $1)",
    [organizationId, new Date(auth.clock.now() + 60_000)],
  );
  auth.clock.pass(-24 * HOUR);
  {
    await using sending = sendQueued(mail)!;
    await eventually(() => smtp.received.length === 1 && !sending.loop.isLooking);
    // Its process may live, and be sending still: the lease begins again.
    expect((await rowsOf(organizationId))[0]!["taken_until"]).toEqual(new Date(auth.clock.now() + 180_000));
    auth.clock.pass(180_000);
    await eventually(() => smtp.received.length === 2);
  }
  auth.clock.pass(24 * HOUR);
});

test("an organization has its 1,000 mails waiting and not one more", async () => {
  const organizationId = await organization();
  await fillOutbox(organizationId, LIMITS.mailsWaiting - 1);
  expect(await queue(organizationId)).toBe(true);
  expect(await queue(organizationId)).toBe(false);
  expect(await rowsOf(organizationId)).toHaveLength(LIMITS.mailsWaiting);
  expect(await queue(await organization())).toBe(true);
});

test.each(["invitation", "password_reset"] as const)(
  "of mails (%s) queued by many transactions at once none waits beyond the organization's 1,000",
  async (kind) => {
    const organizationId = await organization();
    await fillOutbox(organizationId, LIMITS.mailsWaiting - 2);
    const queued = await Promise.all(Array.from({ length: 8 }, () => queue(organizationId, { kind })));
    expect(queued.filter(Boolean)).toHaveLength(2);
    expect(await rowsOf(organizationId)).toHaveLength(LIMITS.mailsWaiting);
    const [day] = await database.query("select recipients from mail_days where organization_id = $1", [organizationId]);
    // One that was not queued has used nothing up.
    expect(day).toEqual({ recipients: kind === "invitation" ? 2 : 0 });
  },
);

test.each(["free", "starter", "pro", "enterprise"] as const)(
  "an organization of the plan %s has as many recipients a day as its plan allows, and not one more",
  async (plan) => {
    const organizationId = await organization(plan);
    const take = (recipients: number): Promise<boolean> =>
      database.transaction((query) => takeRecipients(mail, query, { organizationId, recipients }));
    const most = MAIL_RECIPIENTS_PER_DAY[plan];
    expect(await take(most + 1)).toBe(false);
    expect(await take(most - 1)).toBe(true);
    expect(await take(2)).toBe(false);
    expect(await queue(organizationId)).toBe(true);
    expect(await queue(organizationId)).toBe(false);
    expect(await rowsOf(organizationId)).toHaveLength(1);
    // Strangers ask for these, so they count elsewhere.
    expect(await queue(organizationId, { kind: "password_reset" })).toBe(true);
    auth.clock.pass(24 * HOUR);
    expect(await queue(organizationId)).toBe(true);
  },
);

test("250 characters of a subject stay, one more is cut", async () => {
  const organizationId = await organization();
  await queue(organizationId, { subject: "a".repeat(LIMITS.mailSubjectCharacters) });
  await queue(organizationId, { subject: "b".repeat(LIMITS.mailSubjectCharacters + 1) });
  await using sending = sendQueued(mail)!;
  await passing(100, () => smtp.received.length === 2);
  const subjects = smtp.received.map((one) => headerOf(one, "Subject")!.replaceAll(" ", ""));
  expect(subjects.toSorted()).toEqual(["a", "b"].map((sign) => sign.repeat(LIMITS.mailSubjectCharacters)));
  expect(sending).toBeDefined();
});

test("call: email sends sixteen at a time, and half of them for one organization", async () => {
  const hanging = Promise.withResolvers<void>();
  smtp.behaviour.onMail = () => hanging.promise;
  const send = createSendNow(mail);
  let made = 0;
  const letter = () => (made++, { to: [{ name: "", address: "ada@example.com" }], subject: "s", text: "t" });
  const ids = [await organization(), await organization(), await organization()];
  const most = LIMITS.emailsAtOnce;
  const never = new AbortController().signal;
  const sendMany = (id: OrganizationId, count: number) =>
    Array.from({ length: count }, (_, index) => send(id, `${id}-${index}`, letter, never));
  const sending = sendMany(ids[0]!, most + 1);
  await eventually(() => smtp.open === most / 2);
  // One that waits is not made yet: it would hold its attachments.
  expect(made).toBe(most / 2);
  const stop = new AbortController();
  const waiting = send(ids[0]!, "stopped", letter, stop.signal);
  stop.abort();
  await expect(waiting).rejects.toMatchObject({ kind: "stopped" });
  sending.push(...sendMany(ids[1]!, most), ...sendMany(ids[2]!, most));
  await eventually(() => smtp.open === most);
  hanging.resolve();
  delete smtp.behaviour.onMail;
  await Promise.all(sending);
  expect(smtp.received).toHaveLength(3 * most + 1);
});

test("each attempt of a call: email counts its recipients, also one that is refused", async () => {
  smtp.behaviour.onMail = () => {
    throw reply(451, "greylisted");
  };
  const organizationId = await organization();
  const address = (name: string) => ({ name: "", address: `${name}@example.com` });
  const letter = () => ({ to: [address("a")], cc: [address("b")], bcc: [address("c")], subject: "s", text: "t" });
  const send = createSendNow(mail);
  for (const recipients of [3, 6]) {
    await expect(send(organizationId, "key", letter, new AbortController().signal)).rejects.toThrow("451");
    const days = await database.query("select recipients from mail_days where organization_id = $1", [organizationId]);
    expect(days).toEqual([{ recipients }]);
  }
});
