/** Approvals over the wire: what a decision does, who is too late, what is asked and answered. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { start } from "./agents.ts";
import { eventually, type Answer, type Data } from "./client.ts";
import { agentOf, decide, DECIDE, ENDED, readRun, stepsOf, until } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

let server: MovedServer;
beforeAll(async () => {
  server = await movedServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const codeOf = ({ errors }: Answer): string | undefined => errors?.[0]!.extensions.code;
const ask = (rest = ""): string => `{ask: {call: approval:1.0.0@default, with: {question: May it?${rest}}}}`;
const asking = async (body: string, input: object = {}): Promise<string> =>
  start(server, await agentOf(server, body), input);
const approvalOf = async (id: string): Promise<Data> => (await until(server, id, "paused")).approvals.nodes[0];

test("a run that asks is paused, shows its question, and goes on with the answer", async () => {
  const id = await asking(
    `
do:
  - ask:
      call: approval:1.0.0@default
      with:
        question: '\${ "Pay \\(.amount)?" }'
        context: {amount: '\${ .amount }', nul: "\\0"}
        assignee: The finance team
        form: {type: object, properties: {amount: {type: number, default: '\${ .amount }'}, why: {type: string, title: '\${ "Why \\(.amount)?" }'}}}
  - pay: {set: '\${ . }'}
`,
    { amount: 7 },
  );
  const run = await until(server, id, "paused");
  expect(run).toMatchObject({
    status: "paused",
    currentStep: 1,
    approvals: { nodes: [{ question: "Pay 7?", context: { amount: 7, nul: "\0" } }] },
    steps: [{ status: "paused", finishedAt: null }],
  });
  const answer = await decide(server, id, "approve", { comment: "ok 😀", answer: { why: "because" } });
  expect(answer.errors).toBeUndefined();
  const ended = await until(server, id, ...ENDED);
  expect(ended.output).toEqual({
    approved: true,
    comment: "ok 😀",
    answer: { amount: 7, why: "because" },
    decidedBy: { kind: "key", id: expect.stringMatching(/^key_/) },
    decidedAt: expect.stringMatching(/Z$/),
  });
  expect(stepsOf(ended)).toEqual(["ask completed", "pay completed"]);
  expect(ended.steps[0].duration).toBeGreaterThan(0);
});

test("a rejection is an error that may be caught, or goes on if the definition says so", async () => {
  const failing = await asking(`do: [${ask()}, {after: {set: {a: 1}}}]`);
  await decide(server, failing, "reject", { comment: "too dear" });
  expect(await until(server, failing, ...ENDED)).toMatchObject({
    status: "failed",
    error: { type: expect.stringMatching(/\/approval-rejected$/), status: 403, detail: "too dear", stepNumber: 1 },
  });
  const caught = await asking(
    `do: [{attempt: {try: [${ask()}], catch: {errors: {with: {type: approval-rejected}}, do: [{mend: {set: {said: '\${ $error.detail }'}}}]}}}]`,
  );
  await decide(server, caught, "reject", { comment: "no" });
  expect((await until(server, caught, ...ENDED)).output).toEqual({ said: "no" });
  const going = await asking(`do: [${ask(", onReject: continue")}]`);
  await decide(server, going, "reject");
  expect((await until(server, going, ...ENDED)).output).toMatchObject({ approved: false, comment: null, answer: null });
});

test("a rejection needs no answer, but one that it brings must fit the form", async () => {
  const form = ", form: {type: object, properties: {why: {type: string}}, required: [why]}";
  const id = await asking(`do: [${ask(`${form}, onReject: continue`)}]`);
  const { id: approvalId } = await approvalOf(id);
  const reject = (more: object) =>
    server.graphql(DECIDE, { input: { approvalId, decision: "reject", ...more } }).then(codeOf);
  expect(await reject({ answer: { why: 7 } })).toBe("BAD_USER_INPUT");
  expect(await reject({ answer: {} })).toBe("BAD_USER_INPUT");
  expect((await readRun(server, id)).status).toBe("paused");
  expect(await reject({})).toBeUndefined();
  expect((await until(server, id, ...ENDED)).output).toMatchObject({ approved: false, answer: null });
});

test("a comment has 10,000 characters and not one more", async () => {
  const id = await asking(`do: [${ask()}]`);
  const { id: approvalId } = await approvalOf(id);
  const comment = "x".repeat(10_000);
  const say = (text: string) => server.graphql(DECIDE, { input: { approvalId, decision: "approve", comment: text } });
  expect(codeOf(await say(`${comment}x`))).toBe("BAD_USER_INPUT");
  expect(codeOf(await say(comment))).toBeUndefined();
  expect((await until(server, id, ...ENDED)).output.comment).toBe(comment);
});

test("of two decisions at once one counts, the other is CONFLICT", async () => {
  for (let round = 0; round < 10; round++) {
    const id = await asking(`do: [${ask(", onReject: continue")}]`);
    const approval = await approvalOf(id);
    const answers = await Promise.all(
      ["approve", "reject", "approve", "reject", "approve"].map((decision) =>
        server.graphql(DECIDE, { input: { approvalId: approval.id, decision } }),
      ),
    );
    const won = answers.filter(({ errors }) => !errors);
    // The same again answers the same.
    expect(new Set(won.map(({ data }) => data.decideApproval.status)).size).toBe(1);
    expect(answers.filter((answer) => codeOf(answer) === "CONFLICT")).toHaveLength(answers.length - won.length);
    expect([2, 3]).toContain(won.length);
    const run = await until(server, id, ...ENDED);
    expect(run.output.approved).toBe(won[0]!.data.decideApproval.status === "approved");
    expect(run.approvals.nodes).toMatchObject([{ status: won[0]!.data.decideApproval.status }]);
  }
});

test("a decision and a cancel at once: one counts, and nothing is left open", async () => {
  for (let round = 0; round < 10; round++) {
    const id = await asking(`do: [${ask()}, {rest: {wait: PT1H}}]`);
    const approval = await approvalOf(id);
    const [decided, cancelled] = await Promise.all([
      server.graphql(DECIDE, { input: { approvalId: approval.id, decision: "approve" } }),
      server.graphql(`mutation { cancelRun(runId: "${id}") { status } }`),
    ]);
    expect(cancelled.errors).toBeUndefined();
    const run = await readRun(server, id);
    expect(run.status).toBe("cancelled");
    expect(run.approvals.nodes[0].status).toBe(decided.errors ? "withdrawn" : "approved");
    for (const { status } of run.steps) expect(["cancelled", "completed"]).toContain(status);
  }
});

describe("too late", () => {
  test("after its timeout an approval has expired; the error timeout may be caught", async () => {
    const id = await asking(
      `do: [{attempt: {try: [${ask(", timeout: PT1H")}], catch: {errors: {with: {type: timeout}}, do: [{mend: {set: {late: true}}}]}}}]`,
    );
    const approval = await approvalOf(id);
    await server.clock.advance(3_600_000);
    const run = await until(server, id, ...ENDED);
    expect(run).toMatchObject({ output: { late: true }, approvals: { nodes: [{ status: "expired" }] } });
    expect(stepsOf(run)).toEqual(["attempt completed", "ask failed", "mend completed"]);
    const late = await server.graphql(DECIDE, { input: { approvalId: approval.id, decision: "approve" } });
    expect(codeOf(late)).toBe("CONFLICT");
    expect(late.errors![0]!.message).toMatch(/expired/);
  });

  test("a timeout of the task around it withdraws the question", async () => {
    const id = await asking(`do: [{group: {timeout: {after: PT1H}, do: [${ask()}]}}]`);
    await until(server, id, "paused");
    await server.clock.advance(3_600_000);
    const run = await until(server, id, ...ENDED);
    expect(run).toMatchObject({ status: "failed", approvals: { nodes: [{ status: "withdrawn" }] } });
    expect(stepsOf(run)).toEqual(["group failed", "ask cancelled"]);
  });

  test("at the moment it expires: a decision that was acknowledged counts", async () => {
    const agent = await agentOf(server, `do: [${ask(", timeout: PT2S")}]`);
    const race = async (offsetMs: number): Promise<void> => {
      const id = await start(server, agent);
      // On a slow machine it may have expired already.
      const run = await until(server, id, "paused", ...ENDED);
      const left = Date.parse(run.steps[0].startedAt) + 2_000 - (await server.clock.now());
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, left + offsetMs)));
      const input = { approvalId: run.approvals.nodes[0].id, decision: "approve" };
      const { errors } = await server.graphql(DECIDE, { input });
      const ended = await until(server, id, ...ENDED);
      expect([ended.status, ended.approvals.nodes[0].status]).toEqual(
        errors ? ["failed", "expired"] : ["completed", "approved"],
      );
    };
    await Promise.all(Array.from({ length: 40 }, (_, index) => race(index - 25)));
  });
});

test("an answer that breaks the form is refused with its fields, and the question stays open", async () => {
  const id = await asking(
    `do: [${ask(", form: {type: object, properties: {n: {type: integer, minimum: 1}, who: {type: string}}, required: [n]}")}]`,
  );
  const { id: approvalId } = await approvalOf(id);
  for (const [answer, path] of [
    [{}, "input.answer.n"],
    [{ n: 0 }, "input.answer.n"],
    [{ n: 1, other: 1 }, "input.answer.other"],
    [[1], "input.answer"],
  ] as const) {
    const refused = await server.graphql(DECIDE, { input: { approvalId, decision: "approve", answer } });
    expect(refused.errors![0]!.extensions).toMatchObject({ code: "BAD_USER_INPUT", fields: [{ path }] });
  }
  for (const comment of ["x".repeat(10_001), "a\0b"]) {
    const refused = await server.graphql(DECIDE, { input: { approvalId, decision: "reject", comment } });
    expect(refused.errors![0]!.extensions).toMatchObject({
      code: "BAD_USER_INPUT",
      fields: [{ path: "input.comment" }],
    });
  }
  expect((await readRun(server, id)).approvals.nodes[0].status).toBe("open");
  await decide(server, id, "approve", { answer: { n: 1 } });
  expect((await until(server, id, ...ENDED)).output.answer).toEqual({ n: 1 });
});

test.each([
  ["question: '${ .number }'", /`question` must be text/],
  ["question: '${ .long }'", /at most 10000 characters/],
  ["question: Ok, assignee: '${ .number }'", /`assignee` must be text/],
  [
    "question: Ok, form: {type: object, properties: {n: {type: number, default: '${ .long }'}}}",
    /default of n must be a number/,
  ],
  ["question: Ok, timeout: '${ .number }'", /7 is not a duration/],
])("what cannot be asked fails the step: %s", async (values, detail) => {
  const id = await asking(`do: [{ask: {call: approval:1.0.0@default, with: {${values}}}}]`, {
    number: 7,
    long: "x".repeat(10_001),
  });
  const run = await until(server, id, ...ENDED);
  expect(run).toMatchObject({ status: "failed", error: { detail: expect.stringMatching(detail), stepNumber: 1 } });
  expect(run.approvals.nodes).toEqual([]);
});

test("one question after the other, in a loop; each has its own approval", async () => {
  const id = await asking(
    `do: [{loop: {for: {in: '\${ [1, 2, 3] }'}, do: [${ask()}, {note: {set: {ok: '\${ .approved }'}, export: {as: '\${ ($context // []) + [$item] }'}}}]}}]\noutput: {as: '\${ $context }'}`,
  );
  for (let count = 1; count <= 3; count++) {
    await eventually(async () => {
      const { status, approvals } = await readRun(server, id);
      return status === "paused" && approvals.nodes.length === count;
    });
    expect((await decide(server, id, "approve")).errors).toBeUndefined();
  }
  const run = await until(server, id, ...ENDED);
  expect(run.output).toEqual([1, 2, 3]);
  expect(run.approvals.nodes.map(({ status }: Data) => status)).toEqual(["approved", "approved", "approved"]);
});

test("a decision is heard before another branch, of 4 s, has ended", async () => {
  const id = await asking(`
do:
  - both:
      fork:
        branches:
          - person: {do: [${ask()}, {note: {set: {ok: '\${ .approved }'}}}]}
          - work: {for: {in: '\${ [range(40)] }'}, do: [{rest: {wait: {milliseconds: 100}}}]}
`);
  const approval = await eventually(async () => (await readRun(server, id)).approvals.nodes[0]);
  expect((await readRun(server, id)).status).toBe("running");
  await server.data(DECIDE, { input: { approvalId: approval.id, decision: "approve" } });
  const noted = await eventually(async () => {
    const run = await readRun(server, id);
    return run.steps.some(({ name, status }: Data) => name === "note" && status === "completed") && run;
  });
  expect(noted).toMatchObject({ status: "running" });
  expect(stepsOf(noted)).toContain("work running");
  expect((await until(server, id, ...ENDED)).status).toBe("completed");
});

test("lists of approvals take lists and both directions, and pages of both join without gaps", async () => {
  const agents = await Promise.all([1, 2, 3].map(() => agentOf(server, `do: [${ask()}]`)));
  const runs: string[] = [];
  for (const agentId of [agents[0]!, agents[1]!, agents[0]!, agents[2]!, agents[1]!])
    runs.push(await start(server, agentId));
  const asked: string[] = [];
  for (const id of runs) asked.push((await approvalOf(id)).id);
  const list = async (filter: object, rest = ""): Promise<string[]> => {
    const query = `query($filter: ApprovalFilter, $after: String) {
      approvals(filter: $filter, first: 2, after: $after ${rest}) { nodes { id } pageInfo { hasNextPage endCursor } } }`;
    const found: string[] = [];
    for (let after: string | null = null, more = true; more;) {
      const { approvals } = await server.data(query, { filter, after });
      found.push(...approvals.nodes.map(({ id }: Data) => id));
      ({ endCursor: after, hasNextPage: more } = approvals.pageInfo);
    }
    return found;
  };
  // An approval's id is made when its run asks, which may be in another order than the runs'.
  const ours = asked.toSorted();
  expect(await list({ agentId: agents }, "direction: asc")).toEqual(ours);
  expect(await list({ agentId: agents })).toEqual(ours.toReversed());
  expect(await list({ agentId: agents }, "direction: null")).toEqual(ours.toReversed());
  expect(await list({ agentId: agents, runId: [runs[1], runs[3]] }, "direction: asc")).toEqual(
    ours.filter((id) => id === asked[1] || id === asked[3]),
  );
  expect(await list({ agentId: agents[0], status: ["open", "approved"] }, "direction: asc")).toEqual(
    ours.filter((id) => id === asked[0] || id === asked[2]),
  );
  await decide(server, runs[0]!, "approve");
  expect(await list({ agentId: agents, status: "open" })).toEqual(ours.toReversed().filter((id) => id !== asked[0]));
  expect(await list({ agentId: agents, status: [] })).toEqual([]);
  expect(await list({ agentId: [] })).toEqual([]);
  const unknown = `agent_${"0".repeat(26)}`;
  const answer = await server.graphql(
    "query($filter: ApprovalFilter) { approvals(filter: $filter) { nodes { id } } }",
    {
      filter: { agentId: [agents[0], unknown] },
    },
  );
  expect(codeOf(answer)).toBe("NOT_FOUND");
  const many = Array.from({ length: 101 }, () => `"${agents[0]}"`).join(", ");
  const tooMany = await server.graphql(`{ approvals(filter: {agentId: [${many}]}) { nodes { id } } }`);
  expect(tooMany.errors![0]!.extensions).toMatchObject({
    code: "BAD_USER_INPUT",
    fields: [{ path: "filter.agentId", code: "too_many" }],
  });
});
