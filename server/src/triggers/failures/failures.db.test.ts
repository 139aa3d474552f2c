/** Mails of failed runs: who gets one, when, and how many runs it counts. The statement that notes them is asked over the wire. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../../test/client.ts";
import {
  makeOwner,
  openAuth,
  startDatabases,
  type TestAuth,
  type TestOwner,
} from "../../auth/handle/auth.testsuite.ts";
import { newId, type AgentId, type RunId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { openText } from "../../lib/sealing/seal.ts";
import type { Mail } from "../../mail/mail.ts";
import { openMail, UNANSWERED } from "../../mail/mail.testsuite.ts";
import { subjectOf } from "../../mail/outbox-store.ts";
import type { Database } from "../../storage/database.ts";
import { countFailures, dueFailures, takeFailures } from "./failure-store.ts";
import { mailFailures } from "./mail-failures.ts";
import { setFailureMails } from "./set-failure-mails.ts";

const MINUTE = 60_000;
const stack = new AsyncDisposableStack();
let database: Database;
let auth: TestAuth;
let mail: Mail;
beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
  auth = stack.use(openAuth(database));
  mail = openMail(auth, UNANSWERED);
});
afterAll(() => stack.disposeAsync());
afterEach(async () => {
  await database.query("delete from mails where organization_id is not null");
  await database.query("delete from failure_mails where organization_id is not null");
});

type Known = TestOwner & { agentId: AgentId; triggers: Parameters<typeof setFailureMails>[0] };

async function known(isOn = true): Promise<Known> {
  const owner = await makeOwner(auth);
  const { organizationId } = owner.caller;
  const projectId = newId<"project">();
  await database.query(
    "insert into projects (organization_id, id, handle, name, created_at) values ($1, $2, 'demo', 'Demo', now())",
    [organizationId, projectId],
  );
  const agentId = newId<"agent">();
  await database.query(
    `insert into agents (organization_id, id, project_id, handle, name, status, created_at, updated_at)
     values ($1, $2, $3, 'nightly', 'Nightly report', 'active', now(), now())`,
    [organizationId, agentId, projectId],
  );
  const agent = { id: agentId, organizationId, projectId, name: "Nightly report" };
  const failedRuns = { isOn, look: () => {} };
  const agents = { cache: { agent: async () => agent } };
  return {
    ...owner,
    agentId,
    triggers: { agents, database, clock: auth.clock, failedRuns } as unknown as Known["triggers"],
  };
}
const set = ({ triggers, caller, agentId }: Known, emails: string[]) =>
  setFailureMails(triggers, caller, { agentId, emails });
const fail = async ({ caller: { organizationId }, agentId }: Known, count = 1): Promise<RunId> => {
  const ids = Array.from({ length: count }, () => newId<"run">());
  await database.query(
    `insert into failed_runs (run_id, organization_id, agent_id, at) select id, $1, $2, $3 from unnest($4::uuid[]) id`,
    [organizationId, agentId, new Date(auth.clock.now()), ids],
  );
  return ids.at(-1)!;
};
/** The outbox, oldest first. */
const mails = async (): Promise<{ to: string; subject: string; text: string }[]> => {
  const rows = await database.query("select * from mails where organization_id is not null order by id");
  return Promise.all(
    rows.map(async (row) => {
      const subject = subjectOf({ organizationId: row["organization_id"], id: row["id"] });
      const texts = JSON.parse((await openText(row["sealed"] as string, subject, () => mail.key))!);
      return { to: row["recipient"], subject: texts.subject, text: texts.text };
    }),
  );
};
const run = (by = mail) => {
  const failedRuns = { isOn: true, look: () => {} };
  return mailFailures({ mail: by, url: "https://agents.example.org" }, failedRuns)!;
};
/** Wakes a loop that sleeps, and waits for the end of its look. */
async function lookAgain(loop: ReturnType<typeof run>): Promise<void> {
  const before = loop.timesRound;
  loop.wake();
  await eventually(() => loop.timesRound > before && !loop.isLooking);
}
const rowsOf = async () =>
  (await database.query("select run_id from failed_runs where organization_id is not null")).length;

test("the first failure is mailed at once, with the way to the run, to the members who were chosen", async () => {
  const one = await known();
  await set(one, [one.email.toUpperCase()]);
  const runId = await fail(one);
  await using loop = run();
  await eventually(async () => (await mails()).length === 1);
  const [{ to, subject, text }] = (await mails()) as [Awaited<ReturnType<typeof mails>>[number]];
  expect({ to, subject }).toEqual({ to: one.email, subject: "A run of Nightly report failed" });
  expect(text).toContain(`https://agents.example.org/runs/run_`);
  expect(text).toContain(new Date(auth.clock.now()).toISOString());
  expect(runId).toBeDefined();
  expect(await rowsOf()).toBe(0);
  expect(loop.name).toBe("failure-mails");
});

test("within an hour of a mail further failures are counted, and mailed in one when it is over", async () => {
  const one = await known();
  await set(one, [one.email]);
  await using loop = run();
  await fail(one);
  loop.wake();
  await eventually(async () => (await mails()).length === 1);
  await fail(one, 2_500);
  auth.clock.pass(LIMITS.failureMailMinutes * MINUTE - 1);
  loop.wake();
  await eventually(async () => (await rowsOf()) === 0 && !loop.isLooking);
  expect(await mails()).toHaveLength(1);
  auth.clock.pass(1);
  loop.wake();
  await eventually(async () => (await mails()).length === 2);
  expect((await mails())[1]!.subject).toBe("2500 runs of Nightly report failed");
  auth.clock.pass(2 * LIMITS.failureMailMinutes * MINUTE);
  await lookAgain(loop);
  expect(await mails()).toHaveLength(2);
});

test("of two processes one mails; a clock that was set back by a day holds no mail up", async () => {
  const one = await known();
  await set(one, [one.email]);
  await using first = run();
  await using second = run();
  await fail(one, 10);
  await Promise.all([lookAgain(first), lookAgain(second)]);
  await eventually(async () => (await mails()).length > 0);
  expect(await mails()).toHaveLength(1);
  auth.clock.pass(-24 * 60 * MINUTE);
  await fail(one);
  first.wake();
  await eventually(async () => (await mails()).length === 2);
  auth.clock.pass(24 * 60 * MINUTE);
});

test("a count is taken once, also by a process that found it due before another one took it", async () => {
  const one = await known();
  await set(one, [one.email]);
  await fail(one, 3);
  const now = auth.clock.now();
  const due = { until: now - LIMITS.failureMailMinutes * MINUTE, void: now + 60 * MINUTE };
  await countFailures(database, 10);
  const [found] = await dueFailures(database, { due, without: [], most: 10 });
  const take = () => database.transaction((query) => takeFailures(query, found!, due, now));
  expect(await take()).toMatchObject({ failed: 3, emails: [one.email] });
  expect(await take()).toBeUndefined();
});

test("a look ends while another process has an agent, whose mail comes later", async () => {
  const one = await known();
  await set(one, [one.email]);
  await database.query("update failure_mails set failed = 1, last_at = now(), last_run_id = $2 where agent_id = $1", [
    one.agentId,
    newId(),
  ]);
  const held = Promise.withResolvers<void>();
  const isLetGo = Promise.withResolvers<void>();
  const holding = database.transaction(async (query) => {
    await query("select from failure_mails where agent_id = $1 for update", [one.agentId]);
    held.resolve();
    await isLetGo.promise;
  });
  await held.promise;
  await using loop = run();
  try {
    await eventually(() => !loop.isLooking);
    expect(await mails()).toEqual([]);
  } finally {
    isLetGo.resolve();
    await holding;
  }
  loop.wake();
  await eventually(async () => (await mails()).length === 1);
});

test("an organization whose mail is not queued holds up no other one's", async () => {
  const [broken, other] = [await known(), await known()];
  const agentId = newId<"agent">();
  await database.query(
    `insert into agents (organization_id, id, project_id, handle, name, status, created_at, updated_at)
     select organization_id, $2, project_id, 'second', 'Second', status, created_at, updated_at from agents where id = $1`,
    [other.agentId, agentId],
  );
  const second = { ...other, agentId };
  for (const one of [broken, other, second]) {
    await set(one, [one.email]);
    await fail(one);
  }
  const transaction: Database["transaction"] = (work, organizationId) =>
    organizationId === broken.caller.organizationId
      ? Promise.reject(new Error("broken"))
      : database.transaction(work, organizationId);
  await using loop = run({ ...mail, database: { ...database, transaction } });
  await eventually(() => !loop.isLooking);
  expect((await mails()).map(({ to }) => to)).toEqual([other.email, other.email]);
});

test("nobody who has left the organization is mailed, and an empty list ends it", async () => {
  const one = await known();
  await set(one, [one.email]);
  await database.query("delete from members where user_id = $1", [one.caller.user.id]);
  await fail(one);
  await using loop = run();
  await eventually(async () => (await rowsOf()) === 0 && !loop.isLooking);
  expect(await mails()).toEqual([]);
  const other = await known();
  await set(other, [other.email]);
  await database.query(
    "update failure_mails set failed = 3, last_at = now(), last_run_id = $2 where organization_id = $1",
    [other.caller.organizationId, newId()],
  );
  await set(other, []);
  // The failures of before are not told to those who are chosen later.
  await set(other, [other.email]);
  await lookAgain(loop);
  expect(await mails()).toEqual([]);
});

test("a mail goes to at most 20 members, and to nobody who is none", async () => {
  const one = await known();
  const { organizationId } = one.caller;
  const most = LIMITS.failureMailMembers;
  await database.query(
    `with u as (
       insert into users (id, email, name, password_hash, created_at)
       select gen_random_uuid(), 'f' || n || '@failing.example.org', 'F', 'x', now() from generate_series(1, $2::int) n returning id)
     insert into members (organization_id, user_id, role, created_at) select $1, id, 'viewer', now() from u`,
    [organizationId, most + 1],
  );
  const emails = Array.from({ length: most + 1 }, (_, index) => `f${index + 1}@failing.example.org`);
  await expect(set(one, emails)).rejects.toMatchObject({ code: "BAD_USER_INPUT" });
  await set(one, emails.slice(0, most));
  const stranger = (await makeOwner(auth)).email;
  await expect(set(one, [one.email, stranger])).rejects.toMatchObject({
    details: { fields: [{ path: "input.emails.1", code: "invalid", message: "is the e-mail of no member" }] },
  });
  await fail(one);
  await using loop = run();
  await eventually(async () => (await mails()).length === most);
  expect(loop).toBeDefined();
});

test("on a server that sends no mail only an empty list is taken", async () => {
  const one = await known(false);
  await expect(set(one, [one.email])).rejects.toMatchObject({ details: { reason: "mail_not_configured" } });
  expect((await set(one, [])).name).toBe("Nightly report");
});
