/** Decisions over the wire: what happens to the run at once, and that the same decision again is no mistake. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { start } from "./agents.ts";
import { eventually, type Answer, type Data } from "./client.ts";
import { agentOf, ENDED, readRun, until } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

let server: MovedServer;
beforeAll(async () => {
  server = await movedServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const DECIDE = `mutation($input: DecideApprovalInput!) {
  decideApproval(input: $input) { id status comment answer canDecide decidedAt run { status revision } } }`;
const ask = (name = "ask", rest = ""): string =>
  `{${name}: {call: 'approval:1.0.0@default', with: {question: "${name}?"${rest}}}}`;
const FORM = ", form: {type: object, properties: {n: {type: integer, default: 7}, why: {type: string}}}";

async function asking(body: string): Promise<{ id: string; approvals: string[] }> {
  const id = await start(server, await agentOf(server, body));
  const { approvals } = await until(server, id, "paused");
  return { id, approvals: approvals.nodes.map((one: Data) => one.id) };
}

const decide = (approvalId: string, decision: string, more: object = {}, token?: string): Promise<Answer> =>
  server.graphql(DECIDE, { input: { approvalId, decision, ...more } }, token);
/** The run of the answer. It waits a second at most for the run to go on: on a machine that is slower it may be shown as before. */
async function goesOn(approvalId: string): Promise<Data> {
  const started = performance.now();
  const { run } = (await decide(approvalId, "approve")).data.decideApproval;
  if (performance.now() - started < 1_000) expect(run.status).toBe("running");
  return run;
}
const reasonOf = ({ errors }: Answer): unknown[] =>
  errors!.map(({ extensions }) => [extensions.code, extensions["reason"]]);
const ALREADY = [["CONFLICT", "already_decided"]];

test("the same decision again by the same caller answers the same, also when the run has ended", async () => {
  const { id, approvals } = await asking(`do: [${ask("ask", FORM)}, {rest: {wait: {milliseconds: 1}}}]`);
  const given = { comment: "go", answer: { why: "because", n: 7 } };
  const first = await decide(approvals[0]!, "approve", given);
  expect(first.errors).toBeUndefined();
  await until(server, id, "completed");
  const { run: _run, ...same } = first.data.decideApproval;
  for (const again of [
    given,
    { comment: "go", answer: { n: 7, why: "because" } },
    { comment: "go", answer: { why: "because" } },
  ]) {
    const { data, errors } = await decide(approvals[0]!, "approve", again);
    expect(errors).toBeUndefined();
    expect(data.decideApproval).toEqual({ ...same, run: { status: "completed", revision: expect.any(Number) } });
  }
  const other = await server.key(["approvals:decide", "runs:read"]);
  for (const answer of [
    await decide(approvals[0]!, "reject", given),
    await decide(approvals[0]!, "approve", { ...given, comment: "come" }),
    await decide(approvals[0]!, "approve", { answer: given.answer }),
    await decide(approvals[0]!, "approve", { comment: "go" }),
    await decide(approvals[0]!, "approve", { comment: "go", answer: { why: "because", n: 8 } }),
    await decide(approvals[0]!, "approve", { comment: "go", answer: { why: 8 } }),
    await decide(approvals[0]!, "approve", given, other),
  ])
    expect(reasonOf(answer)).toEqual(ALREADY);
  expect((await readRun(server, id)).approvals.nodes).toMatchObject([{ status: "approved" }]);
});

test("a comment that text can't have is refused and not changed: the approval stays open", async () => {
  const { approvals } = await asking(`do: [${ask()}]`);
  for (const comment of ["go \ud83d", "go \0"]) {
    const { errors } = await decide(approvals[0]!, "approve", { comment });
    expect(errors?.[0]?.extensions).toMatchObject({
      code: "BAD_USER_INPUT",
      fields: [{ path: "input.comment", code: "invalid" }],
    });
  }
  const { data } = await decide(approvals[0]!, "approve", { comment: "go \ud83d\udc4d" });
  expect(data.decideApproval.comment).toBe("go \ud83d\udc4d");
});

test("at once, the same decision is answered alike, and another is CONFLICT", async () => {
  for (let round = 0; round < 5; round++) {
    const { id, approvals } = await asking(`do: [${ask("ask", ", onReject: continue")}]`);
    const decisions = ["approve", "reject", "approve", "approve", "reject", "approve"];
    const answers = await Promise.all(decisions.map((decision) => decide(approvals[0]!, decision)));
    const won = answers.find(({ errors }) => !errors)!.data.decideApproval.status;
    answers.forEach((answer, at) => {
      if ((won === "approved") === (decisions[at] === "approve")) expect(answer.data.decideApproval.status).toBe(won);
      else expect(reasonOf(answer)).toEqual(ALREADY);
    });
    expect((await until(server, id, ...ENDED)).output.approved).toBe(won === "approved");
  }
});

test("a withdrawn and an expired one cannot be decided by anybody", async () => {
  const cancelled = await asking(`do: [${ask()}]`);
  await server.data(`mutation { cancelRun(runId: "${cancelled.id}") { id } }`);
  expect(reasonOf(await decide(cancelled.approvals[0]!, "approve"))).toEqual([["CONFLICT", "wrong_state"]]);
});

test("the answer's run is not paused unless something else of it waits for a person", async () => {
  for (let round = 0; round < 5; round++) {
    const { id, approvals } = await asking(`do: [${ask()}, {rest: {wait: PT1H}}]`);
    const { revision: before } = await readRun(server, id);
    const run = await goesOn(approvals[0]!);
    if (run.status === "running") expect(run.revision).toBeGreaterThan(before);
  }
  // Once the first branch is decided the run goes on for a moment, and while that branch's end is written it may be shown as paused once more.
  let shown = "";
  for (let round = 0; round < 10 && shown !== "running"; round++) {
    const both = await asking(
      `do: [{both: {fork: {branches: [${ask("left")}, ${ask("right")}]}}}, {rest: {wait: PT1H}}]`,
    );
    expect(both.approvals).toHaveLength(2);
    expect((await decide(both.approvals[0]!, "approve")).errors).toBeUndefined();
    await until(server, both.id, "paused");
    shown = (await decide(both.approvals[1]!, "approve")).data.decideApproval.run.status;
    await until(server, both.id, "running");
  }
  expect(shown).toBe("running");
});

test("of two last decisions at once both answers' runs go on, or one does", async () => {
  for (let round = 0; round < 10; round++) {
    const { id, approvals } = await asking(
      `do: [{both: {fork: {branches: [${ask("left")}, ${ask("right")}]}}}, {rest: {wait: PT1H}}]`,
    );
    const started = performance.now();
    const answers = await Promise.all(approvals.map((one) => decide(one, "approve")));
    if (performance.now() - started < 1_000)
      expect(answers.map(({ data }) => data.decideApproval.run.status)).toContain("running");
    // Until it has come to the last step, it may be shown as paused once more: it had begun to write so.
    await eventually(async () => (await readRun(server, id)).steps.some(({ name }: Data) => name === "rest"));
    // Read again: the run is read before its steps.
    expect((await readRun(server, id)).status).toBe("running");
  }
});

test("a large run that waits in memory goes on before the answer as well", async () => {
  const { id, approvals } = await asking(
    `do: [{loop: {for: {in: '\${ [range(200)] }'}, do: [{one: {set: {a: 1}}}]}}, ${ask()}, {rest: {wait: PT1H}}]`,
  );
  await goesOn(approvals[0]!);
  await until(server, id, "running");
});

test("subscribers see each change of the run once, in order", async () => {
  const { id, approvals } = await asking(`do: [${ask()}, {done: {set: {a: 1}}}]`);
  const revisions: number[] = [];
  const statuses: string[] = [];
  const events = server.watch(
    "subscription($id: ID!) { runEvents(runId: $id) { revision run { status } step { name status } } }",
    { id },
  );
  for await (const { data } of events) {
    const { revision, run } = data.runEvents;
    revisions.push(revision);
    if (run) statuses.push(run.status);
    if (run?.status === "paused") void decide(approvals[0]!, "approve");
  }
  expect(revisions).toEqual([...new Set(revisions)].toSorted((a, b) => a - b));
  expect(statuses[0]).toBe("paused");
  expect(statuses.at(-1)).toBe("completed");
});

test("canDecide: while it is open and not expired, and only with the scope", async () => {
  const { id, approvals } = await asking(`do: [${ask("ask", ", timeout: PT1H")}]`);
  const CAN = "query($id: ID!) { approval(id: $id) { status canDecide } }";
  const can = async (token?: string): Promise<boolean> =>
    (await server.data(CAN, { id: approvals[0] }, token)).approval.canDecide;
  expect(await can()).toBe(true);
  expect(await can(await server.key(["runs:read", "approvals:decide"]))).toBe(true);
  expect(await can(await server.key(["runs:read"]))).toBe(false);
  const late = await asking(`do: [${ask("ask", ", timeout: PT1H")}]`);
  expect((await decide(late.approvals[0]!, "approve")).data.decideApproval.canDecide).toBe(false);
  await server.clock.advance(3_600_000);
  expect(await can()).toBe(false);
  await until(server, id, ...ENDED);
  expect(reasonOf(await decide(approvals[0]!, "approve"))).toEqual([["CONFLICT", "wrong_state"]]);
});
