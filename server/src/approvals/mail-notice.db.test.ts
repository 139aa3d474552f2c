/** A notice becomes mails: who is mailed, how many, and once. On a real database; nothing is sent. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../test/client.ts";
import { openAuth, startDatabases, type TestAuth } from "../auth/handle/auth.testsuite.ts";
import type { UntoldNotice } from "../events/outbox-store.ts";
import { outboxPart } from "../events/outbox.ts";
import { newId, type RunId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { openMail, UNANSWERED } from "../mail/mail.testsuite.ts";
import { cancelRun } from "../runs/cancel-run.ts";
import { openRuns, type TestRuns } from "../runs/runs.testsuite.ts";
import { startRun } from "../runs/start-run.ts";
import type { Database } from "../storage/database.ts";
import type { Approvals } from "./approvals.ts";
import { mailNotice } from "./mail-notice.ts";

const stack = new AsyncDisposableStack();
let database: Database;
let opened: TestRuns;
let approvals: Approvals;
beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
  const outbox = outboxPart({ isHeard: () => false, look: () => {} }, true);
  opened = stack.use(await openRuns(database, { parts: { guards: [], followers: [outbox] } }));
  const auth: TestAuth = stack.use(openAuth(database));
  const mail = openMail(auth, UNANSWERED);
  approvals = { runs: opened.runs, auth, mail, linkKey: Buffer.alloc(32, 2), url: "https://agents.example.org" };
  await database.query("update organizations set plan = 'enterprise' where id = $1", [opened.caller.organizationId]);
});
afterAll(() => stack.disposeAsync());

async function notice(rest: object): Promise<{ notice: UntoldNotice; runId: RunId }> {
  const task = { call: "approval:1.0.0@default", with: { question: "Really?", notify: true, ...rest } };
  const agentId = await opened.agentOf(`do: [{ask: ${JSON.stringify(task)}}]`);
  const { run } = await startRun(opened.runs, opened.caller, { agentId, input: {} });
  const [row] = await eventually(async () => {
    const rows = await database.query(
      "select organization_id, subject_id, at from untold_events where run_id = $1 and event = 'mail.requested'",
      [run.id],
    );
    return rows.length > 0 ? rows : undefined;
  }, 60_000);
  const { organization_id: organizationId, subject_id: subjectId, at } = row!;
  return { notice: { organizationId, event: "mail.requested", subjectId, at }, runId: run.id };
}

async function addMembers(role: string, many: number): Promise<string[]> {
  const rows = await database.query(
    `with u as (
       insert into users (id, email, name, password_hash, created_at)
       select gen_random_uuid(), $3 || n || '@Example.org', 'M', 'x', now() from generate_series(1, $4::int) n returning id, email),
     m as (insert into members (organization_id, user_id, role, created_at) select $1, id, $2, now() from u)
     select email from u order by email`,
    [opened.caller.organizationId, role, `m.${newId()}.`, many],
  );
  return rows.map(({ email }) => email as string);
}

const recipientsOf = async (): Promise<string[]> => {
  const { organizationId } = opened.caller;
  const rows = await database.query("delete from mails where organization_id = $1 returning recipient", [
    organizationId,
  ]);
  return rows.map(({ recipient }) => recipient as string).toSorted();
};
const linksOf = async ({ organizationId, subjectId }: UntoldNotice): Promise<number> =>
  (
    await database.query(
      "select count(*)::int as links from approval_links where organization_id = $1 and approval_id = $2",
      [organizationId, subjectId],
    )
  )[0]!["links"];

test("of a role of many, fifty people are mailed, those named by e-mail first, whatever the case of their e-mails", async () => {
  await addMembers("runner", LIMITS.approvalMails + 5);
  const named = await addMembers("editor", 2);
  const { notice: asked } = await notice({ assignees: ["role:runner", ...named.map((email) => email.toUpperCase())] });
  await mailNotice(approvals, asked);
  const recipients = await recipientsOf();
  expect(recipients).toHaveLength(LIMITS.approvalMails);
  expect(recipients).toEqual(expect.arrayContaining(named));
  expect(await linksOf(asked)).toBe(LIMITS.approvalMails);
});

test("a notice that two processes take is mailed once", async () => {
  const [email] = await addMembers("editor", 1);
  const { notice: asked } = await notice({ assignees: [email!] });
  await Promise.all([mailNotice(approvals, asked), mailNotice(approvals, asked)]);
  await mailNotice(approvals, asked);
  expect(await recipientsOf()).toEqual([email]);
  expect(await linksOf(asked)).toBe(1);
});

test("a reminder goes to all who have not decided, and who is asked later alone gets a mail of their own", async () => {
  const people = (await addMembers("editor", 2)).toSorted();
  const { notice: asked } = await notice({ assignees: people });
  await mailNotice(approvals, asked);
  expect(await recipientsOf()).toEqual(people);
  const { organizationId, subjectId, at } = asked;
  const tell = async (event: string): Promise<string[]> => {
    await database.query("insert into untold_events (organization_id, event, subject_id, at) values ($1, $2, $3, $4)", [
      organizationId,
      event,
      subjectId,
      at,
    ]);
    await mailNotice(approvals, { ...asked, event: event as UntoldNotice["event"] });
    return recipientsOf();
  };
  expect(await tell("mail.reminded")).toEqual(people);
  expect(await tell("mail.escalated")).toEqual([]);
  const [later] = await addMembers("editor", 1);
  await database.query(
    "update approvals set assignees = assignees || to_jsonb($3::text) where organization_id = $1 and id = $2",
    [organizationId, subjectId, later!.toLowerCase()],
  );
  expect(await tell("mail.reassigned")).toEqual([later]);
});

test("viewers, people of other organizations and who is no member get no mail; nor does anybody once it is closed", async () => {
  const [viewer] = await addMembers("viewer", 1);
  const [email] = await addMembers("editor", 1);
  const other = await openRuns(database, {});
  stack.use(other);
  await database.query(
    "update members set organization_id = $1 where user_id = (select id from users where email = $2)",
    [other.caller.organizationId, email],
  );
  const { notice: asked } = await notice({ assignees: [viewer!, email!, "nobody@example.org"] });
  await mailNotice(approvals, asked);
  expect(await recipientsOf()).toEqual([]);
  const [late] = await addMembers("editor", 1);
  const closed = await notice({ assignees: [late!] });
  await cancelRun(opened.runs, opened.caller, closed.runId);
  await mailNotice(approvals, closed.notice);
  expect(await recipientsOf()).toEqual([]);
});

test("whoever is not mailed, as the day's recipients are used up, has no link", async () => {
  const { organizationId } = opened.caller;
  const [email] = await addMembers("editor", 1);
  await database.query("update organizations set plan = 'free' where id = $1", [organizationId]);
  const { notice: asked } = await notice({ assignees: [email!] });
  await mailNotice(approvals, asked);
  expect(await recipientsOf()).toEqual([]);
  expect(await linksOf(asked)).toBe(0);
});
