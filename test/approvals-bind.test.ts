/** Approvals that bind people: who may decide, how many it takes, and that every way to decide asks the same rule. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { start } from "./agents.ts";
import { beside, cli } from "./command-line.ts";
import { eventually, type Answer, type Data } from "./client.ts";
import { join, login, refusalOf, type Member } from "./people.ts";
import { agentOf, ENDED, readRun, until } from "./runs.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

let server: SharedServer;
let owner: string;
let admin: Member, anna: Member, bob: Member, runner: Member, viewer: Member;
beforeAll(async () => {
  server = await sharedServer();
  owner = await login(server, server.world);
  admin = await join(server, "admin");
  anna = await join(server, "editor", "Anna");
  bob = await join(server, "editor", "bob");
  runner = await join(server, "runner");
  viewer = await join(server, "viewer");
});
afterAll(() => server[Symbol.asyncDispose]());

const APPROVAL = `id status assignee assignees quorum canDecide comment answer dueAt escalatedAt decidedBy { kind name }
  decisions { by { kind id name } decision comment at isOverride }`;
const DECIDE = `mutation ($input: DecideApprovalInput!) { decideApproval(input: $input) { ${APPROVAL} } }`;
const decide = (token: string, approvalId: string, decision: string, more: object = {}): Promise<Answer> =>
  server.graphql(DECIDE, { input: { approvalId, decision, ...more } }, token);
const show = async (id: string, token?: string): Promise<Data> =>
  (await server.data(`query ($id: ID!) { approval(id: $id) { ${APPROVAL} } }`, { id }, token)).approval;

const body = (rest: object, question = "May it?"): string =>
  `do: [{ask: ${JSON.stringify({ call: "approval:1.0.0@default", with: { question, ...rest } })}}]`;
/** `by`: who starts it; otherwise the test's key. */
async function asked(
  rest: object,
  { input = {}, by }: { input?: object; by?: string } = {},
): Promise<{ run: string; id: string }> {
  const agentId = await agentOf(server, body(rest));
  const run = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";
  const { runAgent } = await server.data(run, { input: { agentId, input } }, by);
  return { run: runAgent.id, id: await openOf(runAgent.id) };
}
const openOf = async (runId: string): Promise<string> => (await until(server, runId, "paused")).approvals.nodes[0].id;

const PUBLISH = "mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";
let names = 0;
const problemsOf = async (rest: object): Promise<string> => {
  const definition = `document: {dsl: '1.0.3', namespace: test, name: refused-${++names}, version: '1.0.0'}\n${body(rest)}`;
  const { errors } = await server.graphql(PUBLISH, { input: { projectId: server.world.projectId, definition } });
  return (errors ?? []).map(({ message }) => message).join();
};
const NOT_ASSIGNED = "FORBIDDEN not_assigned";

describe("assignees", () => {
  test("by e-mail: they decide, without regard to case; others of their role and keys may not", async () => {
    const { run, id } = await asked({ assignees: [anna.email.toUpperCase()] });
    expect(await show(id)).toMatchObject({
      assignees: [anna.email.toLowerCase()],
      quorum: 1,
      canDecide: false,
      decisions: [],
    });
    for (const token of [bob.token, runner.token, server.world.apiKey]) {
      expect(refusalOf(await decide(token, id, "approve"))).toBe(NOT_ASSIGNED);
      expect(refusalOf(await decide(token, id, "reject"))).toBe(NOT_ASSIGNED);
      expect((await show(id, token)).canDecide).toBe(false);
    }
    expect((await decide(viewer.token, id, "approve")).errors![0]!.extensions).toMatchObject({
      code: "FORBIDDEN",
      scope: "approvals:decide",
    });
    expect((await show(id, anna.token)).canDecide).toBe(true);
    const { data } = await decide(anna.token, id, "approve", { comment: "fine" });
    expect(data.decideApproval).toMatchObject({
      status: "approved",
      decidedBy: { kind: "user", name: "Anna" },
      decisions: [
        {
          by: { kind: "user", id: anna.userId, name: "Anna" },
          decision: "approve",
          comment: "fine",
          isOverride: false,
        },
      ],
    });
    expect((await until(server, run, ...ENDED)).output).toMatchObject({ approved: true, comment: "fine" });
  });

  test("by role, by an expression for one of them and for all of them", async () => {
    const cases: [object, object][] = [
      [{ assignees: ["role:runner"] }, {}],
      [{ assignees: ["${ .who }", "role:admin"] }, { who: runner.email }],
      [{ assignees: "${ .all }" }, { all: [runner.email] }],
      [{ assignee: "${ .who }" }, { who: runner.email }],
    ];
    for (const [rest, input] of cases) {
      const { id } = await asked(rest, { input });
      expect(refusalOf(await decide(anna.token, id, "approve"))).toBe(NOT_ASSIGNED);
      expect((await decide(runner.token, id, "approve")).data.decideApproval.decisions[0].isOverride).toBe(false);
    }
  });

  test("an owner or an admin decides in place of others, which the approval and the audit say", async () => {
    for (const token of [owner, admin.token]) {
      const { id } = await asked({ assignee: anna.email });
      expect((await show(id, token)).canDecide).toBe(true);
      const { data } = await decide(token, id, "reject", { comment: "I know better" });
      expect(data.decideApproval).toMatchObject({
        status: "rejected",
        decisions: [{ decision: "reject", isOverride: true }],
      });
      const audit = "{ auditEvents(first: 1, filter: {action: [approval_decided]}) { nodes { detail } } }";
      const [event] = (await server.data(audit, {}, owner)).auditEvents.nodes;
      expect(event.detail).toMatchObject({ decision: "reject", isOverride: true });
    }
    const { id } = await asked({ assignees: ["role:admin"] });
    expect((await decide(admin.token, id, "approve")).data.decideApproval.decisions[0].isOverride).toBe(false);
  });

  test("what they are now counts: a role that was taken, a member who was removed", async () => {
    const eve = await join(server, "editor", "eve");
    const { id } = await asked({ assignees: ["role:editor"] });
    const other = await asked({ assignees: [eve.email] });
    const setRole = "mutation ($input: SetMemberRoleInput!) { setMemberRole(input: $input) { id } }";
    await server.data(setRole, { input: { memberId: eve.memberId, role: "runner" } });
    expect(refusalOf(await decide(eve.token, id, "approve"))).toBe(NOT_ASSIGNED);
    await server.data("mutation ($id: ID!) { removeMember(input: {memberId: $id}) { id } }", { id: eve.memberId });
    expect((await decide(eve.token, other.id, "approve")).errors![0]!.extensions.code).toBe("UNAUTHENTICATED");
    expect((await show(other.id)).status).toBe("open");
  });

  test("without assignees anyone decides who has the scope, and a note binds nobody", async () => {
    for (const rest of [{}, { assignee: "The finance team" }]) {
      const { id } = await asked(rest);
      expect(await show(id)).toMatchObject({
        canDecide: true,
        assignees: [],
        assignee: "assignee" in rest ? rest.assignee : null,
      });
      expect((await decide(server.world.apiKey, id, "approve")).data.decideApproval.decisions).toMatchObject([
        { by: { kind: "key" }, decision: "approve", isOverride: false },
      ]);
    }
  });

  test("an approval has 20 assignees and a quorum of 10, and not one more", async () => {
    const many = (count: number): string[] => Array.from({ length: count }, (_, at) => `p${at}@example.org`);
    const { id } = await asked({ assignees: many(20) });
    expect((await show(id)).assignees).toHaveLength(20);
    expect(await problemsOf({ assignees: many(21) })).toMatch(/1 to 20/);
    expect(await problemsOf({ assignees: many(20), quorum: 11 })).toMatch(/1 to 10/);
    expect(await problemsOf({ assignees: many(20), quorum: 10 })).toBe("");
    const escalate = { after: "PT1H", assignees: ["role:admin"] };
    await asked({ assignees: many(19), escalate });
    const escalated = await start(server, await agentOf(server, body({ assignees: many(20), escalate })));
    expect((await until(server, escalated, ...ENDED)).error).toMatchObject({
      detail: expect.stringContaining("at most 20"),
    });
    const late = await start(server, await agentOf(server, body({ assignees: "${ .all }" })), { all: many(21) });
    expect((await until(server, late, ...ENDED)).error).toMatchObject({
      detail: expect.stringContaining("at most 20"),
    });
    const more = await start(server, await agentOf(server, body({ assignees: ["role:editor"], quorum: "${ 11 }" })));
    expect((await until(server, more, ...ENDED)).error).toMatchObject({
      detail: expect.stringContaining("from 1 to 10"),
    });
  });

  test.each([
    [{ assignees: ["anna"] }, /e-mail of a member, or a role/],
    [{ assignees: ["role:viewer"] }, /viewers may not decide/],
    [{ assignee: "role:boss" }, /no such role/],
    [{ assignees: [] }, /list of 1 to 20/],
    [{ assignees: "anna@example.org" }, /write a list/],
    [{ assignees: ["a@example.org", "A@example.org"], quorum: 2 }, /only one person is asked/],
    [{ assignees: ["a@example.org"], assignee: "b@example.org", quorum: 3 }, /only 2 people are asked/],
    [{ quorum: 0 }, /from 1 to 10/],
    [{ escalate: { after: "PT1H", assignees: ["role:admin"] } }, /anyone may decide/],
    [{ assignee: "A note", escalate: { after: "PT1H", assignees: ["role:admin"] } }, /anyone may decide/],
    [{ assignees: ["role:editor"], escalate: { after: "PT1H" } }, /assignees/],
    [{ assignees: ["role:editor"], escalate: { after: "soon", assignees: ["role:admin"] } }, /duration|PT/],
    [{ assignees: ["role:editor"], escalate: { after: "PT1H", assignees: ["anna"] } }, /e-mail of a member/],
    [{ assignees: ["role:editor"], remindAfter: "soon" }, /duration|PT/],
  ])("a definition with %j is refused", async (rest, message) => {
    expect(await problemsOf(rest)).toMatch(message);
  });

  test.each([
    [{ assignees: "${ .all }" }, { all: null }, /must be a list/],
    [{ assignees: "${ .all }" }, { all: [] }, /must be a list/],
    [{ assignees: "${ .all }" }, { all: ["anna"] }, /e-mail of a member/],
    [{ assignees: ["${ .who }"] }, { who: null }, /list of texts/],
    [{ assignees: "${ .all }", quorum: 2 }, { all: ["a@b.c"] }, /only 1 are asked/],
    [{ assignees: ["role:editor"], quorum: 10 }, {}, /only \d+ may/],
    [{ quorum: 9 }, {}, /only \d+ may/],
    [
      { assignees: ["role:editor"], escalate: { after: "PT1H", assignees: "${ .all }" } },
      { all: [] },
      /`escalate.assignees` must be/,
    ],
    [
      { assignee: "${ .who }", escalate: { after: "PT1H", assignees: ["role:admin"] } },
      { who: "A note" },
      /anyone may decide/,
    ],
  ])("a run with %j and %j fails instead of asking nobody", async (rest, input, message) => {
    const id = await start(server, await agentOf(server, body(rest)), input);
    expect((await until(server, id, ...ENDED)).error).toMatchObject({
      type: expect.stringMatching(/validation$/),
      detail: expect.stringMatching(message),
    });
  });
});

describe("what is mine", () => {
  const LIST = "query ($filter: ApprovalFilter) { approvals(filter: $filter, direction: asc) { nodes { id } } }";
  const mine = async (token: string, filter: object): Promise<string[]> =>
    (await server.data(LIST, { filter: { assignedToMe: true, ...filter } }, token)).approvals.nodes.map(
      ({ id }: Data) => id,
    );

  test("the list has what names me, open or decided, in a project, an agent or a run", async () => {
    const carl = await join(server, "runner", "carl");
    const named = await asked({ assignees: [carl.email, "role:admin"] });
    const byRole = await asked({ assignees: ["role:runner"] });
    await asked({ assignees: [anna.email] });
    await asked({});
    const filter = { runId: [named.run, byRole.run] };
    expect(await mine(carl.token, filter)).toEqual([named.id, byRole.id]);
    expect(await mine(carl.token, { ...filter, status: ["open"] })).toEqual([named.id, byRole.id]);
    expect(await mine(admin.token, filter)).toEqual([named.id]);
    expect(await mine(server.world.apiKey, {})).toEqual([]);
    await decide(carl.token, named.id, "approve");
    expect(await mine(carl.token, { ...filter, status: ["open"] })).toEqual([byRole.id]);
    expect(await mine(carl.token, { ...filter, status: ["approved"] })).toEqual([named.id]);
    expect(await mine(carl.token, { projectId: [server.world.projectId], status: ["approved"] })).toEqual(
      expect.arrayContaining([named.id]),
    );
    expect(await mine(carl.token, { agentId: [], status: ["approved"] })).toEqual([]);
    expect(await mine(carl.token, {})).toEqual(expect.arrayContaining([named.id, byRole.id]));
  });

  test("nothing of another organization, although the names are the same", async () => {
    const before = await mine(owner, {});
    const other = await server.organization("elsewhere");
    const theirs = await server.data(LIST, { filter: { assignedToMe: true } }, other.apiKey);
    expect(theirs.approvals.nodes).toEqual([]);
    expect(await mine(owner, {})).toEqual(before);
  });

  test("the badge counts what I may decide, until I have", async () => {
    const badge = async (token: string): Promise<number> =>
      (await server.data("{ badges { openApprovals } }", {}, token)).badges.openApprovals;
    const all = [owner, anna.token, bob.token, viewer.token, server.world.apiKey];
    const before = await Promise.all(all.map(badge));
    expect(before[3]).toBe(0);
    const added = async (): Promise<number[]> =>
      (await Promise.all(all.map(badge))).map((count, at) => count - before[at]!);
    const { id } = await asked({ assignees: [anna.email, "role:owner"], quorum: 2 });
    expect(await added()).toEqual([1, 1, 0, 0, 0]);
    const own = await asked({ excludeStarter: true }, { by: bob.token });
    expect(await added()).toEqual([2, 2, 0, 0, 0]);
    const free = await asked({});
    expect(await added()).toEqual([3, 3, 1, 0, 1]);
    await decide(anna.token, id, "approve");
    expect(await added()).toEqual([3, 2, 1, 0, 1]);
    await decide(owner, own.id, "approve");
    await decide(owner, free.id, "approve");
    await decide(owner, id, "approve");
    expect(await added()).toEqual([0, 0, 0, 0, 0]);
  });
});

describe("a quorum", () => {
  test("the last of those who are needed lets the run go on; a repeat is no second decision", async () => {
    const { run, id } = await asked({ assignees: ["role:editor"], quorum: 2 });
    const first = await decide(anna.token, id, "approve", { comment: "one" });
    expect(first.data.decideApproval).toMatchObject({
      status: "open",
      decidedBy: null,
      canDecide: false,
      comment: null,
    });
    expect((await decide(anna.token, id, "approve", { comment: "one" })).data.decideApproval.decisions).toHaveLength(1);
    expect(refusalOf(await decide(anna.token, id, "approve", { comment: "two" }))).toBe("CONFLICT already_decided");
    expect(refusalOf(await decide(anna.token, id, "reject"))).toBe("CONFLICT already_decided");
    expect((await readRun(server, run)).status).toBe("paused");
    const second = await decide(bob.token, id, "approve", { comment: "two" });
    expect(second.data.decideApproval).toMatchObject({
      status: "approved",
      comment: "two",
      decisions: [{ comment: "one" }, { comment: "two" }],
    });
    expect((await until(server, run, ...ENDED)).status).toBe("completed");
    expect((await decide(anna.token, id, "approve", { comment: "one" })).errors).toBeUndefined();
    expect(refusalOf(await decide(admin.token, id, "approve"))).toBe("CONFLICT already_decided");
  });

  test("one rejection rejects; an owner's approval in place of others is one of those needed", async () => {
    const { run, id } = await asked({ assignees: ["role:editor"], quorum: 2 });
    await decide(anna.token, id, "approve");
    expect((await decide(bob.token, id, "reject", { comment: "no" })).data.decideApproval.status).toBe("rejected");
    expect((await until(server, run, ...ENDED)).error.detail).toBe("no");
    const other = await asked({ assignees: [anna.email, bob.email], quorum: 2 });
    expect((await decide(owner, other.id, "approve")).data.decideApproval.status).toBe("open");
    expect((await decide(bob.token, other.id, "approve")).data.decideApproval).toMatchObject({
      status: "approved",
      decisions: [{ isOverride: true }, { isOverride: false }],
    });
  });

  test("without assignees it takes people: keys may not", async () => {
    const { id } = await asked({ quorum: 2 });
    expect(refusalOf(await decide(server.world.apiKey, id, "approve"))).toBe(NOT_ASSIGNED);
    await decide(runner.token, id, "approve");
    expect((await decide(anna.token, id, "approve")).data.decideApproval.status).toBe("approved");
  });

  test("all at once: as many count as are needed, and each person once", async () => {
    for (let round = 0; round < 5; round++) {
      const { run, id } = await asked({ quorum: 3, onReject: "continue" });
      const tokens = [anna.token, anna.token, bob.token, runner.token, admin.token, owner, owner];
      const answers = await Promise.all(tokens.map((token) => decide(token, id, "approve")));
      for (const answer of answers) expect([undefined, "CONFLICT already_decided"]).toContain(refusalOf(answer));
      const { status, decisions } = await show(id);
      expect(status).toBe("approved");
      expect(decisions).toHaveLength(3);
      expect(new Set(decisions.map(({ by }: Data) => by.id)).size).toBe(3);
      expect((await until(server, run, ...ENDED)).output.approved).toBe(true);
    }
  });

  test("an approval and a rejection at once: rejected, whatever comes first", async () => {
    for (let round = 0; round < 5; round++) {
      const { run, id } = await asked({ quorum: 2, onReject: "continue" });
      await decide(anna.token, id, "approve");
      const [approved, rejected] = await Promise.all([
        decide(bob.token, id, "approve"),
        decide(admin.token, id, "reject"),
      ]);
      const { status } = await show(id);
      expect([refusalOf(approved), refusalOf(rejected)].filter((one) => one === undefined)).toHaveLength(1);
      expect(status).toBe(rejected.errors ? "approved" : "rejected");
      expect((await until(server, run, ...ENDED)).output.approved).toBe(status === "approved");
    }
  });

  test("all approve the same answer", async () => {
    const form = { type: "object", properties: { amount: { type: "integer", default: 7 } } };
    const { run, id } = await asked({ form, quorum: 2 });
    expect((await decide(anna.token, id, "approve", { answer: { amount: 9 } })).data.decideApproval.answer).toEqual({
      amount: 9,
    });
    for (const answer of [undefined, {}, { amount: 7 }])
      expect(refusalOf(await decide(bob.token, id, "approve", { answer }))).toBe("CONFLICT changed_meanwhile");
    expect((await decide(bob.token, id, "approve", { answer: { amount: 9 } })).data.decideApproval.status).toBe(
      "approved",
    );
    expect((await until(server, run, ...ENDED)).output.answer).toEqual({ amount: 9 });
    const other = await asked({ form, quorum: 2 });
    await decide(anna.token, other.id, "approve");
    expect((await decide(bob.token, other.id, "approve", { answer: { amount: 7 } })).data.decideApproval.status).toBe(
      "approved",
    );
  });
});

describe("who started it", () => {
  const excluded = { excludeStarter: true };
  const mayNot = async (token: string, id: string): Promise<void> => {
    expect(refusalOf(await decide(token, id, "approve"))).toBe(NOT_ASSIGNED);
    expect(refusalOf(await decide(token, id, "reject"))).toBe(NOT_ASSIGNED);
    expect((await show(id, token)).canDecide).toBe(false);
  };

  test("may not decide, named or not, owner or not; others may", async () => {
    for (const [member, rest] of [
      [anna.token, excluded],
      [anna.token, { ...excluded, assignees: [anna.email, bob.email] }],
      [owner, { ...excluded, assignees: [bob.email] }],
    ] as const) {
      const { id } = await asked(rest, { by: member });
      await mayNot(member, id);
      await mayNot(server.world.apiKey, id);
      expect((await decide(bob.token, id, "approve")).data.decideApproval.status).toBe("approved");
    }
  });

  test("is who made the key that started it", async () => {
    const create = `mutation { createApiKey(input: {name: "mine", scopes: ["runs:start", "runs:read"]}) { secret } }`;
    const { secret } = (await server.data(create, {}, admin.token)).createApiKey;
    const { id } = await asked(excluded, { by: secret });
    await mayNot(admin.token, id);
    expect((await decide(anna.token, id, "approve")).errors).toBeUndefined();
  });

  test("is who started the run above, and who retries as well as who was retried", async () => {
    const name = `asks-below-${++names}`;
    await agentOf(server, body(excluded), name);
    const parent = `do: [{below: {run: {workflow: {namespace: test, name: ${name}, version: latest, input: {}}}}}]`;
    const run = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";
    const agentId = await agentOf(server, parent);
    const { runAgent } = await server.data(run, { input: { agentId } }, anna.token);
    const child = await eventually(async () => {
      const children = "query ($id: ID!) { run(id: $id) { children { nodes { id approvals { nodes { id } } } } } }";
      return (await server.data(children, { id: runAgent.id })).run.children.nodes[0]?.approvals.nodes[0];
    });
    await mayNot(anna.token, child.id);
    expect((await decide(bob.token, child.id, "reject")).errors).toBeUndefined();

    const failed = await asked(excluded, { by: anna.token });
    await decide(bob.token, failed.id, "reject");
    await until(server, failed.run, "failed");
    const retry = "mutation ($id: ID!) { retryRun(input: {runId: $id}) { id } }";
    const retried = (await server.data(retry, { id: failed.run }, bob.token)).retryRun.id;
    const again = await openOf(retried);
    await mayNot(anna.token, again);
    await mayNot(bob.token, again);
    expect((await decide(runner.token, again, "approve")).errors).toBeUndefined();
    expect((await until(server, retried, ...ENDED)).status).toBe("completed");
  });

  test("is who fired the trigger by hand or published the event; a webhook has nobody", async () => {
    const agentId = await agentOf(server, body(excluded));
    const create = "mutation ($input: CreateTriggerInput!) { createTrigger(input: $input) { id url } }";
    const trigger = async (name: string, configuration: object): Promise<Data> =>
      (await server.data(create, { input: { agentId, name, trigger: configuration } }, owner)).createTrigger;
    const newest = async (): Promise<string> => {
      const runs = "query ($id: [ID!]) { approvals(filter: {agentId: $id, status: [open]}) { nodes { id } } }";
      return (await eventually(async () => (await server.data(runs, { id: [agentId] })).approvals.nodes[0])).id;
    };
    await trigger("news", { type: "event", source: "shop", event: "ordered" });
    const publish = `mutation { publishEvent(input: {source: "shop", event: "ordered", id: "1", data: {}}) { id } }`;
    await server.data(publish, {}, anna.token);
    const published = await newest();
    await mayNot(anna.token, published);
    expect((await decide(bob.token, published, "approve")).errors).toBeUndefined();

    const schedule = await trigger("nightly", { type: "cron", schedule: "0 3 1 1 *", timezone: "UTC" });
    const fire = "mutation ($id: ID!) { fireTrigger(input: {triggerId: $id}) { id } }";
    await server.data(fire, { id: schedule.id }, anna.token);
    const fired = await newest();
    await mayNot(anna.token, fired);
    expect((await decide(bob.token, fired, "approve")).errors).toBeUndefined();

    const { url } = await trigger("hook", {
      type: "webhook",
      method: "POST",
      authentication: { type: "bearer_token" },
    });
    await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
    const hooked = await newest();
    expect((await decide(anna.token, hooked, "approve")).errors).toBeUndefined();
  });
});

test("the command line shows who is asked, lists what is mine and says how many have approved", async () => {
  const { id } = await asked({ assignees: ["role:editor"], quorum: 2 });
  const run = async (token: string, ...line: string[]) => cli(["approvals", ...line], { env: beside(server, token) });
  expect(await run(anna.token, "list", "--mine")).toMatchObject({ stderr: "", stdout: expect.stringContaining(id) });
  expect((await run(runner.token, "list", "--mine")).stdout).not.toContain(id);
  expect((await run(runner.token, "approve", id)).stderr).toContain("role:editor");
  expect((await run(anna.token, "approve", id, "--comment", "well")).stdout).toContain("open: 1 of 2 have approved");
  const shown = (await run(bob.token, "show", id)).stdout;
  for (const text of ["role:editor", "2 who approve", "Anna approved: well"]) expect(shown).toContain(text);
});
