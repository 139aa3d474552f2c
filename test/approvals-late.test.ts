/** Approvals that nobody decides in time: reminded of and escalated once, whatever is killed or happens at that moment. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { decodeId } from "../server/src/lib/ids.ts";
import { LIMITS } from "../server/src/lib/limits.ts";
import { ask as askOn, decideAs, openOf, reassignAs, showApproval, type Asked } from "./approvals.ts";
import { publish, start } from "./agents.ts";
import { eventually, type Answer, type Data } from "./client.ts";
import { connectTo } from "./faults/audit.ts";
import { seeded } from "./faults/random.ts";
import { join, login, refusalOf, type Member } from "./people.ts";
import { eventTriggerOf } from "./published-events.ts";
import { agentOf, CANCEL, ENDED, readRun, until } from "./runs.ts";
import { scaled } from "./scale.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";
import { firingsOf } from "./webhooks.ts";

const MINUTE_MS = 60_000;

let server: MovedServer;
let anna: Member, bob: Member, carl: Member;
let told: { reminded: Data; escalated: Data };
beforeAll(async () => {
  server = await movedServer();
  anna = await join(server, "editor", "Anna");
  bob = await join(server, "runner", "bob");
  carl = await join(server, "editor", "carl");
  const echo = await publish(server, "echo");
  const trigger = (event: string): Promise<Data> => eventTriggerOf(server, echo, { source: "autograph", event });
  told = { reminded: await trigger("approval.reminded"), escalated: await trigger("approval.escalated") };
});
afterAll(() => server[Symbol.asyncDispose]());

const ask = (rest: object): Promise<Asked> => askOn(server, rest);
const show = (id: string): Promise<Data> => showApproval(server, id);
/** Signs in again: a token lasts for minutes, and the clock moves on. */
const decide = async (member: Member, id: string, decision: string): Promise<Answer> =>
  decideAs(server, await login(server, member), id, decision);
const later = (minutes: number): Promise<unknown> => server.clock.advance(minutes * MINUTE_MS);
/** The approval once it is so. */
const untilShown = (id: string, is: (approval: Data) => boolean): Promise<Data> =>
  eventually(async () => {
    const approval = await show(id);
    return is(approval) ? approval : undefined;
  });
const untilReminded = (id: string): Promise<Data> => untilShown(id, ({ remindedAt }) => remindedAt !== null);
const untilEscalated = (id: string): Promise<Data> => untilShown(id, ({ escalatedAt }) => escalatedAt !== null);
/** The events of this approval. */
const eventsOf = async (trigger: { id: string }, id: string): Promise<Data[]> =>
  (await firingsOf(server, trigger as never)).map((one) => one["payload"]).filter((one) => one.approvalId === id);
const untilTold = (trigger: Data, id: string): Promise<Data[]> =>
  eventually(async () => {
    const events = await eventsOf(trigger as { id: string }, id);
    return events.length > 0 ? events : undefined;
  });
const after = (from: string, minutes: number): string => new Date(Date.parse(from) + minutes * MINUTE_MS).toISOString();
const LATE = (): object => ({
  assignees: [anna.email],
  remindAfter: "PT1M",
  escalate: { after: "PT2M", assignees: [bob.email, "role:admin", anna.email] },
});

test("those who are asked are reminded, then others may decide as well; each is told once", async () => {
  const { run, id } = await ask({ ...LATE(), timeout: { minutes: 5 } });
  const asked = await show(id);
  expect(asked).toMatchObject({
    dueAt: after(asked.createdAt, 1),
    expiresAt: after(asked.createdAt, 5),
    remindedAt: null,
    escalatedAt: null,
  });
  await later(1);
  const { remindedAt } = await untilReminded(id);
  expect(remindedAt >= asked.dueAt).toBe(true);
  expect(await show(id)).toMatchObject({ assignees: [anna.email.toLowerCase()], escalatedAt: null, reassignments: [] });
  expect(refusalOf(await decide(bob, id, "approve"))).toBe("FORBIDDEN not_assigned");
  await later(1);
  const all = [anna.email.toLowerCase(), bob.email, "role:admin"];
  const escalated = await untilEscalated(id);
  expect(escalated).toMatchObject({
    status: "open",
    assignees: all,
    remindedAt,
    dueAt: asked.dueAt,
    reassignments: [
      {
        by: { kind: "system", id: null },
        from: [anna.email.toLowerCase()],
        to: all,
        at: escalated.escalatedAt,
        isOverride: false,
      },
    ],
  });
  expect((await readRun(server, run)).status).toBe("paused");
  const audit =
    "{ auditEvents(first: 1, filter: {action: [approval_escalated]}) { nodes { action actor { kind } subject { id } detail } } }";
  expect((await server.data(audit, {}, await login(server, server.world))).auditEvents.nodes).toEqual([
    {
      action: "approval_escalated",
      actor: { kind: "system" },
      subject: { id },
      detail: { runId: run, from: [anna.userId], to: [anna.userId, bob.userId, "role:admin"] },
    },
  ]);
  expect(await untilTold(told.escalated, id)).toMatchObject([{ runId: run, assignees: all, from: [all[0]], to: all }]);
  expect(await untilTold(told.reminded, id)).toMatchObject([{ runId: run, question: "May it?", dueAt: asked.dueAt }]);
  expect((await decide(bob, id, "approve")).data.decideApproval.decisions).toMatchObject([{ isOverride: false }]);
  expect((await until(server, run, ...ENDED)).status).toBe("completed");
});

test("one that is decided, withdrawn or expired before is neither", async () => {
  const decided = await ask(LATE());
  await decide(anna, decided.id, "approve");
  const withdrawn = await ask(LATE());
  await server.data(CANCEL, { id: withdrawn.run });
  const expired = await ask({
    ...LATE(),
    remindAfter: "PT4M",
    escalate: { after: "PT3M", assignees: [bob.email] },
    timeout: "PT2M",
  });
  expect((await show(expired.id)).dueAt).toBe((await show(expired.id)).expiresAt);
  const other = await ask(LATE());
  await later(5);
  await untilEscalated(other.id);
  expect((await until(server, expired.run, ...ENDED)).error.type).toMatch(/timeout$/);
  await untilTold(told.escalated, other.id);
  for (const [{ id }, status] of [
    [decided, "approved"],
    [withdrawn, "withdrawn"],
    [expired, "expired"],
  ] as const) {
    expect(await show(id)).toMatchObject({ status, remindedAt: null, escalatedAt: null, reassignments: [] });
    for (const trigger of [told.reminded, told.escalated])
      expect(await eventsOf(trigger as { id: string }, id)).toEqual([]);
  }
});

test("one without these fields has no time, and one that was passed on keeps its times", async () => {
  const plain = await ask({ assignees: [anna.email] });
  expect((await show(plain.id)).dueAt).toBeNull();
  const { id } = await ask(LATE());
  const { dueAt } = await show(id);
  expect((await reassignAs(server, await login(server, anna), id, [carl.email])).errors).toBeUndefined();
  await later(2);
  expect(await untilEscalated(id)).toMatchObject({
    dueAt,
    assignees: [carl.email, bob.email, "role:admin", anna.email.toLowerCase()],
    reassignments: [{ by: { kind: "user" } }, { by: { kind: "system" } }],
  });
  expect(await show(plain.id)).toMatchObject({ status: "open", remindedAt: null, escalatedAt: null });
});

test("one that was passed on is escalated to all whom its definition names, also beyond twenty assignees", async () => {
  const others = Array.from({ length: LIMITS.approvalAssignees }, (_, at) =>
    at === 0 ? "role:runner" : `p${at}@example.org`,
  );
  const { id } = await ask({ assignees: ["role:runner"], escalate: { after: "PT2M", assignees: others } });
  const to = [carl.email, bob.email, "role:admin"];
  expect((await reassignAs(server, await login(server, bob), id, to)).errors).toBeUndefined();
  await later(2);
  expect((await untilEscalated(id)).assignees).toEqual([...to, ...others]);
});

test("two of a run have their own times, and a retried run asks again with new ones", async () => {
  const one = (name: string, minutes: number): string =>
    `{${name}: {call: 'approval:1.0.0@default', with: {question: ${name}?, assignees: ['${anna.email}'], remindAfter: PT${minutes}M}}}`;
  const agentId = await agentOf(server, `do: [{both: {fork: {branches: [${one("soon", 1)}, ${one("late", 3)}]}}}]`);
  const run = await start(server, agentId);
  await openOf(server, run);
  const { nodes } = (await readRun(server, run)).approvals;
  const of = (question: string): string => nodes.find((node: Data) => node["question"] === question)["id"];
  await later(1);
  await untilReminded(of("soon?"));
  expect((await show(of("late?"))).remindedAt).toBeNull();
  await later(2);
  await untilReminded(of("late?"));
  await decide(anna, of("soon?"), "reject");
  await until(server, run, "failed");
  const retry = "mutation ($id: ID!) { retryRun(input: {runId: $id}) { id } }";
  const retried = (await server.data(retry, { id: run })).retryRun.id;
  await openOf(server, retried);
  const again = (await readRun(server, retried)).approvals.nodes.filter((node: Data) => node["status"] === "open");
  for (const { id } of again) {
    const { createdAt, dueAt, remindedAt } = await show(id);
    expect([after(createdAt, 1), after(createdAt, 3)]).toContain(dueAt);
    expect(remindedAt).toBeNull();
  }
  await later(3);
  for (const { id } of again) await untilReminded(id);
});

describe("kill -9", () => {
  test("while it waits, at its times and after them: reminded and escalated once", async () => {
    const { run, id } = await ask(LATE());
    await server.kill();
    await server.restart({}, MINUTE_MS);
    await untilReminded(id);
    for (let round = 0; round < scaled({ whole: 10, part: 2 }); round++) {
      const other = await ask(LATE());
      const advanced = later(2).catch(() => {});
      await sleep(round * 3);
      await server.kill();
      await advanced;
      await server.restart({}, 2 * MINUTE_MS);
      const { reassignments } = await untilEscalated(other.id);
      expect(reassignments).toHaveLength(1);
      expect((await untilReminded(other.id)).status).toBe("open");
      expect(await untilTold(told.reminded, other.id)).toHaveLength(1);
      expect(await untilTold(told.escalated, other.id)).toHaveLength(1);
      expect((await decide(bob, other.id, "approve")).errors).toBeUndefined();
      expect((await until(server, other.run, ...ENDED)).status).toBe("completed");
    }
    expect((await untilEscalated(id)).reassignments).toHaveLength(1);
    await decide(bob, id, "reject");
    expect((await until(server, run, ...ENDED)).status).toBe("failed");
  });

  test("after its end has passed it expires, and is neither", async () => {
    const { run, id } = await ask({ ...LATE(), timeout: "PT3M" });
    await server.kill();
    await server.restart({}, 4 * MINUTE_MS);
    expect((await until(server, run, ...ENDED)).error.type).toMatch(/timeout$/);
    expect(await show(id)).toMatchObject({ status: "expired", remindedAt: null, escalatedAt: null });
  });

  test("between two decisions of a quorum, and during them: each counts once, and the run goes on with the last", async () => {
    const quorum = { assignees: ["role:editor", bob.email], quorum: 2 };
    const between = await ask(quorum);
    expect((await decide(anna, between.id, "approve")).data.decideApproval.status).toBe("open");
    await server.kill();
    await server.restart();
    expect(await show(between.id)).toMatchObject({ status: "open", decisions: [{ by: { id: anna.userId } }] });
    expect((await decide(anna, between.id, "approve")).data.decideApproval.decisions).toHaveLength(1);
    expect((await readRun(server, between.run)).status).toBe("paused");
    expect((await decide(bob, between.id, "approve")).data.decideApproval.status).toBe("approved");
    expect((await until(server, between.run, ...ENDED)).output.approved).toBe(true);
    const random = seeded("kill -9 during decisions of a quorum");
    for (let round = 0; round < scaled({ whole: 20, part: 3 }); round++) {
      const { run, id } = await ask(quorum);
      const members = [anna, bob, carl];
      const tokens = await Promise.all(members.map((member) => login(server, member)));
      const acknowledged = new Set<string>();
      const deciding = tokens.map(async (token, at) => {
        await sleep(random.between(0, 10));
        const answer = await decideAs(server, token, id, "approve").catch(() => undefined);
        if (answer && !answer.errors) acknowledged.add(members[at]!.userId);
      });
      await sleep(random.between(0, 25));
      await server.kill();
      await Promise.all(deciding);
      await server.restart();
      const by = (approval: Data): string[] => approval["decisions"].map((one: Data) => one["by"].id);
      const kept = by(await show(id));
      for (const member of acknowledged) expect(kept).toContain(member);
      for (const member of members) await decide(member, id, "approve");
      const ended = await show(id);
      expect(ended.status).toBe("approved");
      expect(by(ended).slice(0, kept.length)).toEqual(kept);
      expect(new Set(by(ended)).size).toBe(2);
      expect((await until(server, run, ...ENDED)).output.approved).toBe(true);
    }
  });
});

test("a decision that takes too long is answered before it is made: it counts from its commit, and a repeat returns it", async () => {
  const { run, id } = await ask({ assignees: [anna.email] });
  const token = await login(server, anna);
  const holding = await connectTo(server);
  try {
    await holding.query("begin");
    await holding.query("select from approvals where id = $1 for update", [decodeId("approval", id)]);
    const deciding = decideAs(server, token, id, "approve");
    await eventually(async () => {
      // A transaction keeps what it has read of the statistics.
      await holding.query("select pg_stat_clear_snapshot()");
      const waiting =
        "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%from approvals%for update'";
      return (await holding.query(waiting)).rowCount! > 0;
    });
    await server.clock.advance(LIMITS.requestSeconds * 1_000);
    expect((await deciding).errors).toMatchObject([{ extensions: { code: "UNAVAILABLE" } }]);
    expect(await show(id)).toMatchObject({ status: "open", decisions: [] });
    await holding.query("commit");
  } finally {
    await holding.end();
  }
  const { decisions } = await untilShown(id, ({ status }) => status === "approved");
  expect(refusalOf(await decide(bob, id, "reject"))).toBe("CONFLICT already_decided");
  expect((await decideAs(server, token, id, "approve")).data.decideApproval.decisions).toEqual(decisions);
  expect((await until(server, run, ...ENDED)).status).toBe("completed");
});

/** Less than a request may take: the clock moves on past none of them, so what is read afterwards is all that they did. */
const SOON_SECONDS = LIMITS.requestSeconds / 6;

test("decided, passed on, escalated and cancelled at once, in any order: one outcome, by one who was asked then", async () => {
  const random = seeded("late approvals");
  for (let round = 0; round < scaled({ whole: 60, part: 6 }); round++) {
    const after = { seconds: SOON_SECONDS };
    const escalate = { after, assignees: [bob.email, "role:admin", anna.email] };
    const { run, id } = await ask({ assignees: [anna.email], remindAfter: after, escalate, onReject: "continue" });
    const [annas, bobs, carls] = await Promise.all([anna, bob, carl].map((member) => login(server, member)));
    const acts: (() => Promise<unknown>)[] = [
      () => decideAs(server, annas!, id, "approve"),
      () => decideAs(server, bobs!, id, "reject"),
      () => decideAs(server, carls!, id, "approve"),
      () => reassignAs(server, annas!, id, [carl.email]),
      () => server.clock.advance(SOON_SECONDS * 1_000),
    ];
    if (random.between(0, 3) === 0) acts.push(() => server.graphql(CANCEL, { id: run }));
    const codes = await Promise.all(
      acts.map(async (act) => {
        await sleep(random.between(0, 8));
        const answer = await act();
        return (answer as Partial<Answer> | undefined)?.errors?.[0]!.extensions.code;
      }),
    );
    for (const code of codes) expect([undefined, "CONFLICT", "FORBIDDEN"]).toContain(code);
    const { status, decisions, reassignments, assignees, escalatedAt } = await show(id);
    let asked: string[] = [anna.email.toLowerCase()];
    for (const { from, to } of reassignments) {
      expect(from).toEqual(asked);
      asked = to;
    }
    expect(assignees).toEqual(asked);
    expect(reassignments.filter(({ by }: Data) => by.kind === "system")).toHaveLength(escalatedAt === null ? 0 : 1);
    const who = [anna, bob, carl].find(({ userId }) => userId === decisions[0]?.by.id);
    if (who) expect(asked).toContain(who.email.toLowerCase());
    if (status === "open") {
      await untilEscalated(id);
      const answer = await decideAs(server, await login(server, server.world), id, "reject");
      expect(refusalOf(answer), codes.join()).toBeUndefined();
    }
    const { status: end, output } = await until(server, run, ...ENDED);
    if (end === "completed") expect((await show(id)).status).toBe(output.approved ? "approved" : "rejected");
  }
});
