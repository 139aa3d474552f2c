/** Open approvals that are passed on to others: who may, what is recorded, and that the rule of decisions holds for it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { ask as askOn, decideAs, reassignAs, showApproval, type Asked } from "./approvals.ts";
import { beside, cli } from "./command-line.ts";
import { eventually, type Answer, type Data } from "./client.ts";
import { seeded } from "./faults/random.ts";
import { eventTriggerOf } from "./published-events.ts";
import { publish } from "./agents.ts";
import { join, login, refusalOf, type Member } from "./people.ts";
import { CANCEL, ENDED, until } from "./runs.ts";
import { scaled } from "./scale.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";
import { firingsOf } from "./webhooks.ts";

let server: SharedServer;
let owner: string;
let admin: Member, anna: Member, bob: Member, carl: Member, viewer: Member;
beforeAll(async () => {
  server = await sharedServer();
  owner = await login(server, server.world);
  admin = await join(server, "admin");
  anna = await join(server, "editor", "Anna");
  bob = await join(server, "runner", "bob");
  carl = await join(server, "editor", "carl");
  viewer = await join(server, "viewer");
});
afterAll(() => server[Symbol.asyncDispose]());

const ask = (rest: object, by?: string): Promise<Asked> => askOn(server, rest, by);
const decide = (token: string, id: string, decision: string): Promise<Answer> => decideAs(server, token, id, decision);
const reassign = (token: string, id: string, to: string[], comment?: string): Promise<Answer> =>
  reassignAs(server, token, id, to, comment);
const show = (id: string, token?: string): Promise<Data> => showApproval(server, id, token);
const NOT_ASSIGNED = "FORBIDDEN not_assigned";

test("an assignee passes it on: others decide, and the approval says who, when, from whom and to whom", async () => {
  const { run, id } = await ask({ assignees: [anna.email] });
  expect(refusalOf(await reassign(bob.token, id, [bob.email]))).toBe(NOT_ASSIGNED);
  expect((await reassign(viewer.token, id, [bob.email])).errors![0]!.extensions).toMatchObject({
    code: "FORBIDDEN",
    scope: "approvals:decide",
  });
  expect(refusalOf(await reassign(server.world.apiKey, id, [bob.email]))).toBe(NOT_ASSIGNED);
  const { data } = await reassign(anna.token, id, [bob.email.toUpperCase(), ` ${bob.email}`], "on holiday");
  const reassignments = [
    {
      by: { kind: "user", id: anna.userId, name: "Anna" },
      at: expect.stringMatching(/Z$/),
      from: [anna.email.toLowerCase()],
      to: [bob.email],
      comment: "on holiday",
      isOverride: false,
    },
  ];
  expect(data.reassignApproval).toMatchObject({
    status: "open",
    assignees: [bob.email],
    canDecide: false,
    reassignments,
  });
  expect((await show(id, bob.token)).canDecide).toBe(true);
  for (const decision of ["approve", "reject"])
    expect(refusalOf(await decide(anna.token, id, decision))).toBe(NOT_ASSIGNED);
  expect(refusalOf(await reassign(anna.token, id, [anna.email]))).toBe(NOT_ASSIGNED);
  expect((await decide(bob.token, id, "approve")).data.decideApproval).toMatchObject({
    status: "approved",
    reassignments,
    decisions: [{ isOverride: false }],
  });
  expect((await until(server, run, ...ENDED)).status).toBe("completed");
});

test("owners and admins do in place of others; the audit names users by id and not by e-mail", async () => {
  const { id } = await ask({ assignees: [anna.email, "role:runner", "gone@example.org"] });
  const { data } = await reassign(admin.token, id, ["role:editor", carl.email]);
  expect(data.reassignApproval.reassignments).toMatchObject([{ isOverride: true, comment: null }]);
  const audit =
    "{ auditEvents(first: 1, filter: {action: [approval_reassigned]}) { nodes { action actor { id } subject { kind id } detail } } }";
  const [event] = (await server.data(audit, {}, owner)).auditEvents.nodes;
  expect(event).toEqual({
    action: "approval_reassigned",
    actor: { id: admin.userId },
    subject: { kind: "approval", id },
    detail: {
      runId: expect.stringMatching(/^run_/),
      from: [anna.userId, "role:runner", "unknown"],
      to: ["role:editor", carl.userId],
      isOverride: true,
    },
  });
  expect(JSON.stringify(event)).not.toContain("@");
  expect(refusalOf(await decide(bob.token, id, "approve"))).toBe(NOT_ASSIGNED);
  expect((await decide(anna.token, id, "approve")).errors).toBeUndefined();
});

test("what anyone may decide is for those people from then on; a key may say so, as it may decide it", async () => {
  for (const token of [bob.token, server.world.apiKey]) {
    const { id } = await ask({});
    expect((await reassign(token, id, [anna.email])).data.reassignApproval).toMatchObject({
      assignees: [anna.email.toLowerCase()],
      reassignments: [{ from: [], isOverride: false }],
    });
    expect(refusalOf(await decide(token, id, "approve"))).toBe(NOT_ASSIGNED);
    expect((await decide(anna.token, id, "reject")).errors).toBeUndefined();
  }
});

test("who started it neither passes it on nor gets it, owner or not", async () => {
  for (const [token, email] of [
    [anna.token, anna.email],
    [owner, server.world.email],
  ] as const) {
    const { id } = await ask({ assignees: [email, bob.email], excludeStarter: true }, token);
    expect(refusalOf(await reassign(token, id, [carl.email]))).toBe(NOT_ASSIGNED);
    const refused = await reassign(bob.token, id, [email]);
    expect(refused.errors![0]!.extensions).toMatchObject({
      code: "BAD_USER_INPUT",
      fields: [{ path: "input.assignees.0", code: "invalid" }],
    });
    expect((await reassign(bob.token, id, [carl.email])).errors).toBeUndefined();
  }
});

test("one of several passes on only their own place, and not after they have decided", async () => {
  const { id } = await ask({ assignees: [anna.email, bob.email, "role:admin"], quorum: 2 });
  const a = anna.email.toLowerCase();
  for (const to of [
    [carl.email],
    [carl.email, viewer.email],
    [carl.email, bob.email, "role:admin", admin.email],
    ["role:editor", bob.email, "role:admin"],
    [bob.email, "role:admin"],
    [a, carl.email, "role:admin"],
  ])
    expect(refusalOf(await reassign(anna.token, id, to)), to.join()).toBe(NOT_ASSIGNED);
  expect((await reassign(anna.token, id, [bob.email, carl.email, "role:admin"])).errors).toBeUndefined();
  expect(refusalOf(await decide(anna.token, id, "approve"))).toBe(NOT_ASSIGNED);
  await decide(carl.token, id, "approve");
  expect(refusalOf(await reassign(carl.token, id, [bob.email, a, "role:admin"]))).toBe("CONFLICT already_decided");
  // Who has decided counts, and an admin may name only those who are still needed.
  expect((await reassign(admin.token, id, [a])).errors).toBeUndefined();
  expect((await decide(anna.token, id, "approve")).data.decideApproval).toMatchObject({ status: "approved" });
  const roles = await ask({ assignees: ["role:editor"], quorum: 2 });
  expect(refusalOf(await reassign(anna.token, roles.id, [bob.email, carl.email]))).toBe(NOT_ASSIGNED);
  for (const to of [[bob.email], [viewer.email, bob.email]])
    expect((await reassign(owner, roles.id, to)).errors![0]!.extensions.code).toBe("BAD_USER_INPUT");
  expect((await show(roles.id)).reassignments).toEqual([]);
});

test.each([
  [[], "input.assignees", "too_few"],
  [Array.from({ length: LIMITS.approvalAssignees + 1 }, () => "role:editor"), "input.assignees", "too_many"],
  [["anna"], "input.assignees.0", "invalid"],
  [["role:editor", "role:viewer"], "input.assignees.1", "invalid"],
  [["role:boss"], "input.assignees.0", "invalid"],
  [["nobody@example.org"], "input.assignees.0", "unknown"],
  [["\u0000@example.org"], "input.assignees.0", "invalid"],
])("to %j is refused", async (to, path, code) => {
  const { id } = await ask({ assignees: [anna.email] });
  const { errors } = await reassign(owner, id, to);
  expect(errors![0]!.extensions).toMatchObject({ code: "BAD_USER_INPUT", fields: [{ path, code }] });
  expect((await show(id)).assignees).toEqual([anna.email.toLowerCase()]);
});

test("a repeat changes nothing; once it is decided or withdrawn it is too late", async () => {
  const { id } = await ask({ assignees: [anna.email] });
  const first = await reassign(anna.token, id, [bob.email], "over to you");
  expect((await reassign(anna.token, id, [bob.email], "over to you")).data).toEqual(first.data);
  expect(refusalOf(await reassign(anna.token, id, [bob.email], "again"))).toBe(NOT_ASSIGNED);
  await decide(bob.token, id, "reject");
  expect(refusalOf(await reassign(owner, id, [anna.email]))).toBe("CONFLICT already_decided");
  const other = await ask({ assignees: [anna.email] });
  await server.data(CANCEL, { id: other.run });
  expect(refusalOf(await reassign(anna.token, other.id, [bob.email]))).toBe("CONFLICT wrong_state");
});

test("an approval is reassigned ten times, and not once more", async () => {
  const { id } = await ask({ assignees: [anna.email] });
  for (let time = 0; time < LIMITS.approvalReassignments; time++)
    expect((await reassign(owner, id, [time % 2 === 0 ? bob.email : carl.email])).errors).toBeUndefined();
  expect(refusalOf(await reassign(owner, id, [anna.email]))).toBe("CONFLICT limit_reached");
  expect((await show(id)).reassignments).toHaveLength(LIMITS.approvalReassignments);
});

test("what people write about an approval has 32 KiB together, and not more; a decision without a comment always fits", async () => {
  const { id } = await ask({ assignees: [anna.email, bob.email, carl.email], quorum: 2 });
  const most = LIMITS.descriptionCharacters;
  const [a, b, c] = [anna.email.toLowerCase(), bob.email, carl.email];
  const long = "x".repeat(most);
  for (const to of [
    [b, c],
    [a, b],
    [a, b, c],
  ])
    expect((await reassign(owner, id, to, long)).errors).toBeUndefined();
  const tooLong = { code: "BAD_USER_INPUT", fields: [{ path: "input.comment", code: "too_long" }] };
  expect((await reassign(owner, id, [a, b], long)).errors![0]!.extensions).toMatchObject(tooLong);
  const decided = await decideAs(server, anna.token, id, "approve", { comment: long });
  expect(decided.errors![0]!.extensions).toMatchObject(tooLong);
  const rest = LIMITS.approvalHistoryBytes - 3 * most - 2_000;
  expect((await decideAs(server, anna.token, id, "approve", { comment: "x".repeat(rest) })).errors).toBeUndefined();
  const people = [b, c, "role:admin"];
  let refusal: string | undefined;
  for (let time = 3; time < LIMITS.approvalReassignments && !refusal; time++)
    refusal = refusalOf(await reassign(owner, id, time % 2 === 0 ? people : people.toReversed()));
  expect(refusal).toBe("CONFLICT limit_reached");
  expect((await show(id)).reassignments.length).toBeLessThan(LIMITS.approvalReassignments);
  expect((await decide(bob.token, id, "approve")).data.decideApproval.status).toBe("approved");
});

test("badges and lists follow, and it is an event", async () => {
  const trigger = await eventTriggerOf(server, await publish(server, "echo"), {
    source: "autograph",
    event: "approval.reassigned",
  });
  const { run, id } = await ask({ assignees: [anna.email] });
  const mine = async ({ token }: Member): Promise<string[]> => {
    const list = "query ($run: [ID!]) { approvals(filter: {assignedToMe: true, runId: $run}) { nodes { id } } }";
    return (await server.data(list, { run: [run] }, token)).approvals.nodes.map((one: Data) => one["id"]);
  };
  const badge = async ({ token }: Member): Promise<number> =>
    (await server.data("{ badges { openApprovals } }", {}, token)).badges.openApprovals;
  const before = [await badge(anna), await badge(bob)];
  expect([await mine(anna), await mine(bob)]).toEqual([[id], []]);
  await reassign(anna.token, id, [bob.email], "yours");
  await reassign(owner, id, [bob.email, carl.email]);
  expect([await mine(anna), await mine(bob)]).toEqual([[], [id]]);
  expect([await badge(anna), await badge(bob)]).toEqual([before[0]! - 1, before[1]! + 1]);
  const told = await eventually(async () => {
    const firings = (await firingsOf(server, trigger)).filter((one: Data) => one["payload"]["approvalId"] === id);
    return firings.length === 2 ? firings : undefined;
  });
  const payload = { approvalId: id, runId: run };
  // Both may be told at once.
  const payloads = told.map((one: Data) => one["payload"]).toSorted((a, b) => a.to.length - b.to.length);
  expect(payloads).toMatchObject([
    {
      ...payload,
      reassignedBy: { kind: "user", id: anna.userId },
      from: [anna.email.toLowerCase()],
      to: [bob.email],
      comment: "yours",
    },
    { ...payload, from: [bob.email], to: [bob.email, carl.email], comment: null },
  ]);
});

test("the command line passes it on and shows who did", async () => {
  const { id } = await ask({ assignees: [anna.email] });
  const run = async (token: string, ...line: string[]) => cli(["approvals", ...line], { env: beside(server, token) });
  expect((await run(bob.token, "reassign", id, bob.email)).stderr).toContain("this approval is for");
  expect((await run(anna.token, "reassign", id, bob.email, "role:admin", "--comment", "away")).stdout).toContain(
    `${id} is for ${bob.email}, role:admin`,
  );
  expect((await run(bob.token, "show", id)).stdout).toContain(`Anna reassigned it to ${bob.email}, role:admin: away`);
});

test("decided, passed on and cancelled at once, in any order: one outcome, decided by one who was asked then", async () => {
  const random = seeded("approvals passed on");
  for (let round = 0; round < scaled({ whole: 100, part: 8 }); round++) {
    const { run, id } = await ask({ assignees: [anna.email], onReject: "continue" });
    const acts: (() => Promise<Answer>)[] = [
      () => decide(anna.token, id, "approve"),
      () => decide(bob.token, id, "reject"),
      () => reassign(anna.token, id, [bob.email]),
      () => reassign(owner, id, [carl.email]),
      () => decide(carl.token, id, "approve"),
      ...(random.between(0, 2) < 1 ? [() => server.graphql(CANCEL, { id: run })] : []),
    ];
    const order = acts.map((act) => ({ act, at: random.between(0, 1_000) })).toSorted((a, b) => a.at - b.at);
    const answers = await Promise.all(order.map(({ act }) => act()));
    for (const { errors } of answers)
      expect([undefined, "CONFLICT", "FORBIDDEN"]).toContain(errors?.[0]!.extensions.code);
    const { status, decisions, reassignments, assignees } = await show(id);
    expect(decisions.length).toBeLessThanOrEqual(1);
    let asked = [anna.email.toLowerCase()];
    for (const { from, to } of reassignments) {
      expect(from).toEqual(asked);
      asked = to;
    }
    expect(assignees).toEqual(asked);
    for (const { by } of decisions)
      expect(by.id).toBe([anna, bob, carl].find(({ email }) => email.toLowerCase() === asked[0])!.userId);
    if (status === "open") await decide(owner, id, "reject");
    const { status: end, output } = await until(server, run, ...ENDED);
    if (decisions.length > 0) expect([status, end === "cancelled" || output.approved]).toContain(status);
    expect(["completed", "cancelled"]).toContain(end);
  }
});
