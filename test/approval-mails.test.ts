/** Mails of approvals and the links in them, over the real wire: a running server and a real SMTP server. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { eventually, startTestServer, type Answer, type Data, type TestServer } from "./client.ts";
import { join, login, type Member } from "./people.ts";
import { agentOf, CANCEL, ENDED, until } from "./runs.ts";
import { sharedServer } from "./shared-server.ts";
import { headerOf, partOf, startSmtp, type Received, type Smtp } from "./smtp.ts";

let smtp: Smtp;
let server: TestServer;
let owner: string;
let anna: Member, bob: Member, runner: Member;
beforeAll(async () => {
  smtp = await startSmtp();
  server = await startTestServer({
    env: { SMTP_URL: `smtp://127.0.0.1:${smtp.port}`, MAIL_FROM: "Autograph <agents@example.org>" },
  });
  owner = await login(server, server.world);
  anna = await join(server, "editor", "Anna");
  bob = await join(server, "editor", "bob");
  runner = await join(server, "runner");
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await smtp[Symbol.asyncDispose]();
});
afterEach(() => void smtp.received.splice(0));

const ask = (rest: object, question = "May it?"): string =>
  `do: [{ask: ${JSON.stringify({ call: "approval:1.0.0@default", with: { question, notify: true, ...rest } })}}]`;
async function asked(rest: object, question?: string, by?: string): Promise<{ run: string; id: string }> {
  const agentId = await agentOf(server, ask(rest, question));
  const run = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";
  const { runAgent } = await server.data(run, { input: { agentId, input: {} } }, by);
  return { run: runAgent.id, id: (await until(server, runAgent.id, "paused")).approvals.nodes[0].id };
}
const show = async (id: string): Promise<Data> =>
  (
    await server.data(
      "query ($id: ID!) { approval(id: $id) { status comment answer decisions { by { kind id } decision comment isOverride } } }",
      { id },
    )
  ).approval;
const decide = (token: string, input: object): Promise<Answer> =>
  server.graphql("mutation ($input: DecideApprovalInput!) { decideApproval(input: $input) { id } }", { input }, token);

const mailTo = async ({ email }: Pick<Member, "email">): Promise<Received> => {
  let found: Received | undefined;
  await eventually(() => (found = smtp.received.find(({ to }) => to[0] === email)) !== undefined);
  return found!;
};
const tokenIn = (mail: Received): string => /#approval=(apl_[\w-]+)/.exec(partOf(mail, "text/plain"))![1]!;

type Got = { status: number; body: Data; headers: Headers };
/** As the page of the link sends it. */
async function post(path: string, token: string, body: object = {}, headers: object = {}): Promise<Got> {
  const response = await fetch(`${server.url}${path}`, {
    method: "POST",
    headers: {
      origin: server.url,
      "content-type": "application/json",
      authorization: `Bearer ${token}`,
      ...headers,
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json(), headers: response.headers };
}
const READ = "/auth/approval";
const DECIDE = "/auth/approval/decision";

describe("the mail", () => {
  test("goes to each assignee, by e-mail and by role, once, with the question, the agent and a link of their own", async () => {
    const { id } = await asked({ assignees: [anna.email, "role:runner", "role:editor"] }, "Pay 500 €?");
    const mails = await Promise.all([anna, bob, runner].map(mailTo));
    await eventually(() => smtp.received.length === 3);
    for (const mail of mails) {
      expect(headerOf(mail, "Subject")).toContain("=?UTF-8?");
      const text = partOf(mail, "text/plain");
      expect(text).toContain("> Pay 500 €?");
      expect(text).toMatch(/the agent "[^"]+" of /);
      expect(text).toContain(`${server.url}/#approval=apl_`);
      expect(partOf(mail, "text/html")).toContain(`href="${server.url}/#approval=${tokenIn(mail)}"`);
    }
    expect(new Set(mails.map(tokenIn)).size).toBe(3);
    expect(await show(id)).toMatchObject({ status: "open" });
  });

  test("what the author wrote is quoted and escaped, and adds no header", async () => {
    const evil = 'One\r\nBcc: eve@example.com\n\nDecide: https://evil.example/ <script>alert("x")</script> \u202edlrow';
    await asked({ assignees: [anna.email] }, evil);
    const mail = await mailTo(anna);
    expect(mail.to).toEqual([anna.email]);
    expect(headerOf(mail, "Bcc")).toBeUndefined();
    const lines = partOf(mail, "text/plain").split(/\r?\n/);
    expect(lines.filter((line) => line.includes("evil.example") || line.includes("eve@"))).toEqual([
      "> Bcc: eve@example.com",
      '> Decide: https://evil.example/ <script>alert("x")</script> dlrow',
    ]);
    const html = partOf(mail, "text/html");
    expect(html).not.toContain("<script");
    expect(html).toContain("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;");
  });

  test("does not go to who started it and is excluded, and without `notify` to nobody", async () => {
    await asked({ assignees: ["role:editor"], excludeStarter: true }, "Excluded?", anna.token);
    await mailTo(bob);
    await asked({ assignees: [anna.email], notify: false });
    await asked({ assignees: [runner.email] });
    await mailTo(runner);
    expect(smtp.received.map(({ to }) => to[0])).toEqual([bob.email, runner.email]);
  });

  test("is sent after a kill between the question and the mail, once", async () => {
    const { run } = await asked({ assignees: [anna.email] }, "Killed?");
    await server.kill();
    await server.restart();
    await mailTo(anna);
    const { id } = await asked({ assignees: [bob.email] });
    await mailTo(bob);
    expect(id).toBeDefined();
    // Mail is sent at least once: a second copy would have the first one's id.
    const copies = smtp.received.filter(({ to }) => to[0] === anna.email);
    expect(new Set(copies.map((mail) => headerOf(mail, "Message-ID"))).size).toBe(1);
    await server.data(CANCEL, { id: run });
  });

  test("a definition that has nobody to mail is refused, and without SMTP_URL the question is asked all the same", async () => {
    const publish = "mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";
    const definition = `document: {dsl: '1.0.3', namespace: test, name: unnotified, version: '1.0.0'}\n${ask({})}`;
    const { errors } = await server.graphql(publish, { input: { projectId: server.world.projectId, definition } });
    expect(errors?.[0]?.message).toContain("nobody is mailed: write in `assignees` who is asked");
    await using without = await sharedServer();
    const who = await join(without, "editor");
    const agentId = await agentOf(without, ask({ assignees: [who.email] }));
    const run = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";
    const { runAgent } = await without.data(run, { input: { agentId, input: {} } });
    expect((await until(without, runAgent.id, "paused")).status).toBe("paused");
  });
});

describe("the link", () => {
  test("shows question, context and form, and decides once by a POST, in the person's name; the audit says by what", async () => {
    const form = { type: "object", required: ["amount"], properties: { amount: { type: "integer", title: "Amount" } } };
    const { run, id } = await asked({
      assignees: [anna.email],
      context: { order: 12_345_678_901_234_567_890n.toString() },
      form,
    });
    const token = tokenIn(await mailTo(anna));
    const read = await post(READ, token);
    expect(read).toMatchObject({
      status: 200,
      body: {
        question: "May it?",
        context: { order: "12345678901234567890" },
        fields: [{ name: "amount", type: "integer", required: true }],
        you: { name: "Anna", email: anna.email },
        status: "open",
        canDecide: true,
        decisions: [],
      },
    });
    expect(read.headers.get("cache-control")).toBe("no-store");
    expect(read.headers.get("referrer-policy")).toBe("no-referrer");
    const wrong = await post(DECIDE, token, { decision: "approve", answer: { amount: "many" } });
    expect(wrong).toMatchObject({ status: 400, body: { errors: [{ extensions: { code: "BAD_USER_INPUT" } }] } });
    const decided = await post(DECIDE, token, { decision: "approve", comment: "fine", answer: { amount: 7 } });
    expect(decided).toMatchObject({
      status: 200,
      body: { status: "approved", canDecide: false, decisions: [{ by: "Anna", isYou: true, comment: "fine" }] },
    });
    expect(await show(id)).toMatchObject({
      status: "approved",
      answer: { amount: 7 },
      decisions: [{ by: { kind: "user", id: anna.userId }, decision: "approve", isOverride: false }],
    });
    expect((await until(server, run, ...ENDED)).output).toMatchObject({ approved: true, answer: { amount: 7 } });
    const audit = "{ auditEvents(first: 1, filter: {action: [approval_decided]}) { nodes { detail actor { id } } } }";
    const [event] = (await server.data(audit, {}, owner)).auditEvents.nodes;
    expect(event).toMatchObject({ actor: { id: anna.userId }, detail: { decision: "approve", by: "mailed link" } });
    // Once more: the same is the same, and another decision is too late. The page says who decided.
    expect((await post(DECIDE, token, { decision: "approve", comment: "fine", answer: { amount: 7 } })).status).toBe(
      200,
    );
    expect(await post(DECIDE, token, { decision: "reject" })).toMatchObject({
      status: 409,
      body: { errors: [{ extensions: { code: "CONFLICT", reason: "already_decided" } }] },
    });
    expect((await post(READ, token)).body).toMatchObject({ status: "approved", decisions: [{ by: "Anna" }] });
  });

  test("GET, HEAD and previews decide nothing, and nor does another page", async () => {
    const { id } = await asked({ assignees: [anna.email] });
    const mail = await mailTo(anna);
    const token = tokenIn(mail);
    const link = `${server.url}/#approval=${token}`;
    for (const method of ["GET", "HEAD"]) {
      const page = await fetch(link, { method, headers: { accept: "text/html" } });
      expect(page.status).toBe(200);
      expect(page.headers.get("x-robots-tag")).toContain("noindex");
      expect(page.headers.get("referrer-policy")).toBe("no-referrer");
      expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
      for (const path of [READ, DECIDE]) {
        const headers = { authorization: `Bearer ${token}`, origin: server.url };
        expect((await fetch(`${server.url}${path}`, { method, headers })).status).toBe(405);
      }
    }
    for (const origin of ["https://evil.example", "null"])
      expect((await post(DECIDE, token, { decision: "approve" }, { origin })).status).toBe(403);
    const form = await fetch(`${server.url}${DECIDE}`, {
      method: "POST",
      headers: { origin: server.url, authorization: `Bearer ${token}` },
      body: new URLSearchParams({ decision: "approve" }),
    });
    expect(form.status).toBe(415);
    expect((await post(READ, token)).status).toBe(200);
    expect(await show(id)).toMatchObject({ status: "open", decisions: [] });
    // The token is no credential of anything else.
    expect((await server.graphql("{ me { id } }", {}, token)).errors?.[0]?.extensions.code).toBe("UNAUTHENTICATED");
  });

  test("with a quorum each decides for themselves: one is missing, and all approve the same answer", async () => {
    const form = { type: "object", properties: { note: { type: "string" } } };
    const { id } = await asked({ assignees: [anna.email, bob.email], quorum: 2, form });
    const [first, second] = [tokenIn(await mailTo(anna)), tokenIn(await mailTo(bob))];
    expect((await post(DECIDE, first, { decision: "approve", answer: { note: "a" } })).body).toMatchObject({
      status: "open",
      canDecide: false,
      quorum: 2,
    });
    expect((await post(DECIDE, first, { decision: "reject" })).body.errors[0].extensions.reason).toBe(
      "already_decided",
    );
    expect((await post(READ, second)).body).toMatchObject({
      canDecide: true,
      answer: { note: "a" },
      decisions: [{ by: "Anna", isYou: false }],
    });
    const other = await post(DECIDE, second, { decision: "approve", answer: { note: "b" } });
    expect(other.body.errors[0].extensions.reason).toBe("changed_meanwhile");
    expect((await post(DECIDE, second, { decision: "approve", answer: { note: "a" } })).body.status).toBe("approved");
    expect((await show(id)).decisions).toHaveLength(2);
  });

  test("ends with the question, the membership and the role; no other link is any better", async () => {
    const leaver = await join(server, "editor", "leaver");
    const demoted = await join(server, "editor", "demoted");
    const { id, run } = await asked({ assignees: [leaver.email, demoted.email, anna.email] });
    const [gone, viewer, own] = await Promise.all(
      [leaver, demoted, anna].map(async (person) => tokenIn(await mailTo(person))),
    );
    await server.data(
      "mutation ($id: ID!) { removeMember(input: {memberId: $id}) { id } }",
      { id: leaver.memberId },
      owner,
    );
    const setRole = "mutation ($input: SetMemberRoleInput!) { setMemberRole(input: $input) { id } }";
    await server.data(setRole, { input: { memberId: demoted.memberId, role: "viewer" } }, owner);
    const made = `apl_${"A".repeat(64)}`;
    for (const token of [
      gone!,
      viewer!,
      made,
      `${own!.slice(0, -1)}${own!.endsWith("A") ? "B" : "A"}`,
      "",
      server.world.apiKey,
    ]) {
      for (const [path, body] of [
        [READ, {}],
        [DECIDE, { decision: "approve" }],
      ] as const) {
        const { status, body: answer } = await post(path, token, body);
        expect({ status, message: answer.errors[0].message }).toEqual({ status: 404, message: "Link not found" });
      }
    }
    expect(await show(id)).toMatchObject({ status: "open", decisions: [] });
    await server.data(CANCEL, { id: run });
    expect((await post(READ, own!)).body).toMatchObject({ status: "withdrawn", canDecide: false });
    expect((await post(DECIDE, own!, { decision: "approve" })).status).toBe(409);
  });

  test("an admin who is asked by e-mail decides as one who is asked; who became one is asked no longer, and does not decide in place of others by a link", async () => {
    const admin = await join(server, "admin", "chief");
    const { id } = await asked({ assignees: [admin.email] });
    const token = tokenIn(await mailTo(admin));
    expect((await post(DECIDE, token, { decision: "reject", comment: "no" })).body).toMatchObject({
      status: "rejected",
    });
    expect(await show(id)).toMatchObject({ decisions: [{ isOverride: false, comment: "no" }] });
    const promoted = await join(server, "runner", "promoted");
    const other = await asked({ assignees: ["role:runner"] });
    const [former] = await Promise.all([mailTo(promoted), mailTo(runner)]);
    const setRole = "mutation ($input: SetMemberRoleInput!) { setMemberRole(input: $input) { id } }";
    await server.data(setRole, { input: { memberId: promoted.memberId, role: "admin" } }, owner);
    expect((await post(DECIDE, tokenIn(former), { decision: "approve" })).status).toBe(404);
    expect(await show(other.id)).toMatchObject({ status: "open" });
  });

  test("the second of two that decide at the same time is told who was first", async () => {
    const { id } = await asked({ assignees: [anna.email, bob.email] });
    const tokens = [tokenIn(await mailTo(anna)), tokenIn(await mailTo(bob))];
    const answers = await Promise.all(tokens.map((token) => post(DECIDE, token, { decision: "approve" })));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    expect((await show(id)).decisions).toHaveLength(1);
    const loser = tokens[answers.findIndex(({ status }) => status === 409)]!;
    const winner = answers[0]!.status === 200 ? "Anna" : "bob";
    expect((await post(READ, loser)).body).toMatchObject({ decisions: [{ by: winner, isYou: false }] });
  });

  test("passed on, it is mailed to those who are asked now, and the former ones' links end", async () => {
    const { id } = await asked({ assignees: [anna.email] });
    const former = tokenIn(await mailTo(anna));
    const reassign = "mutation ($input: ReassignApprovalInput!) { reassignApproval(input: $input) { id } }";
    await server.data(reassign, { input: { approvalId: id, assignees: [bob.email] } }, anna.token);
    const token = tokenIn(await mailTo(bob));
    expect((await post(DECIDE, former, { decision: "approve" })).status).toBe(404);
    await server.data(reassign, { input: { approvalId: id, assignees: [bob.email, runner.email] } }, bob.token);
    await mailTo(runner);
    expect(smtp.received.map(({ to }) => to[0])).toEqual([anna.email, bob.email, runner.email]);
    expect((await post(DECIDE, token, { decision: "approve" })).body.status).toBe("approved");
  });

  test("somebody who has decided in the inbox reads by the link that they have", async () => {
    const { id } = await asked({ assignees: [anna.email, bob.email], quorum: 2 });
    const token = tokenIn(await mailTo(anna));
    await mailTo(bob);
    await decide(anna.token, { approvalId: id, decision: "approve" });
    expect((await post(READ, token)).body).toMatchObject({ canDecide: false, decisions: [{ isYou: true }] });
  });

  test("the token is in no table and in no log, and a person may use it as often as the web UI", async () => {
    const { id } = await asked({ assignees: [anna.email] });
    const token = tokenIn(await mailTo(anna));
    const answers = await Promise.all(Array.from({ length: 3 }, () => post(READ, token)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers[0]!.headers.get("ratelimit-policy") ?? answers[0]!.headers.get("ratelimit")).toBeTruthy();
    await post(DECIDE, token, { decision: "approve" }, { "user-agent": `mail ${token}` });
    expect(server.log()).not.toContain(token.slice(4));
    const audit = "{ auditEvents(first: 1) { nodes { userAgent } } }";
    expect(JSON.stringify(await server.data(audit, {}, owner))).not.toContain(token.slice(4));
    expect(await show(id)).toMatchObject({ status: "approved" });
  });
});

// The last: it moves the clock on.
test("a reminder is mailed to those who have not decided, an escalation to those who are added", async () => {
  const { id } = await asked({
    assignees: [anna.email, bob.email],
    quorum: 2,
    remindAfter: "PT1M",
    escalate: { after: "PT2M", assignees: [runner.email, bob.email] },
  });
  await mailTo(anna);
  await mailTo(bob);
  await decide(anna.token, { approvalId: id, decision: "approve" });
  await server.clock.advance(60_000);
  await eventually(() => smtp.received.length === 3);
  await server.clock.advance(60_000);
  const added = tokenIn(await mailTo(runner));
  expect(smtp.received.slice(2).map(({ to }) => to[0])).toEqual([bob.email, runner.email]);
  expect((await post(DECIDE, added, { decision: "approve" })).body.status).toBe("approved");
});
