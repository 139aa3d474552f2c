/** The life of a run over the wire: its states, cancelling it in each of them, `wait`, what the API shows meanwhile. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { publish, start, type AgentName } from "./agents.ts";
import { eventually, startTestServer, type Answer, type Data, type TestServer } from "./client.ts";
import { agentOf, CANCEL, decide, ENDED, ran, readRun, runOf, stepsOf, until } from "./runs.ts";

let server: TestServer;
let agents: Record<AgentName, string>;
beforeAll(async () => {
  server = await startTestServer();
  const names: AgentName[] = ["three", "echo", "slow", "patient", "approve", "failing"];
  agents = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await publish(server, name)])));
});
afterAll(() => server[Symbol.asyncDispose]());

const cancel = (id: string): Promise<Answer> => server.graphql(CANCEL, { id });
const codeOf = ({ errors }: Answer): string | undefined => errors?.[0]!.extensions.code;

describe("states", () => {
  test("progress does not fall when the run goes back to an earlier task", async () => {
    const id = await start(
      server,
      await agentOf(
        server,
        `
do:
- count: {set: {n: '\${ (.n // 0) + 1 }'}}
- pause: {call: approval:1.0.0@default, with: {question: Again?}, output: {as: '\${ $input }'}}
- again: {switch: [{more: {when: '\${ .n < 2 }', then: count}}]}
- last: {set: {done: true}}
`,
      ),
    );
    const at = async (step: number): Promise<number> =>
      (
        await eventually(async () => {
          const run = await readRun(server, id);
          return run.currentStep === step && run;
        })
      ).progress;
    expect(await at(2)).toBe(25);
    expect((await decide(server, id, "approve")).errors).toBeUndefined();
    // `count` and `pause` once more: by where it stands it would be 25 again.
    expect(await at(5)).toBe(75);
  });

  test("running, then completed: times, steps and progress fit together", async () => {
    const id = await start(server, agents.slow);
    const first = await readRun(server, id);
    expect(first).toMatchObject({ status: "running", finishedAt: null, cancelledAt: null, output: null, error: null });
    const seen: Data[] = [first];
    const last = await eventually(async () => {
      const run = await readRun(server, id);
      seen.push(run);
      return ENDED.includes(run.status) && run;
    }, 60_000);
    expect(last).toMatchObject({ status: "completed", progress: 100, currentStep: 31 });
    const [created, started, finished] = [last.createdAt, last.startedAt, last.finishedAt].map(Date.parse);
    expect(created).toBeLessThanOrEqual(started!);
    expect(finished! - started!).toBeGreaterThanOrEqual(3_000);
    for (const [index, run] of seen.entries()) {
      const before = seen[index - 1] ?? run;
      expect(run.progress).toBeGreaterThanOrEqual(before.progress);
      expect(run.revision).toBeGreaterThanOrEqual(before.revision);
      if (run.status !== "completed") expect(run.progress).toBeLessThanOrEqual(99);
      // The loop's own step is the lowest that runs.
      if (run.status === "running") expect(run.currentStep).toBe(1);
      for (const step of run.steps) expect(step.finishedAt === null).toBe(step.status === "running");
    }
    expect(new Set(seen.map(({ progress }) => progress)).size).toBeGreaterThan(5);
    expect(last.steps.map(({ number }: Data) => number)).toEqual(Array.from({ length: 31 }, (_, index) => index + 1));
    for (const step of last.steps) {
      expect(step.duration).toBe(Date.parse(step.finishedAt) - Date.parse(step.startedAt));
      expect(step.attempts).toHaveLength(1);
    }
  });

  test("a step that runs shows its duration so far", async () => {
    const id = await start(server, agents.patient);
    const duration = async (): Promise<number> => (await readRun(server, id)).steps[0]?.duration ?? -1;
    const first = await eventually(async () => ((await duration()) >= 0 ? 1 + (await duration()) : 0));
    await eventually(async () => (await duration()) > first);
    await cancel(id);
  });

  test("a wait of an hour survives a restart, and ends when the clock says so", async () => {
    const began = await server.clock.now();
    const id = await start(server, agents.patient);
    await until(server, id, "running");
    expect(await server.stop()).toBe(0);
    await server.restart();
    // By the clock when it began: a restart may take longer than what is left of the hour.
    await server.clock.set(began + 3_540_000);
    expect((await readRun(server, id)).status).toBe("running");
    await server.clock.advance(120_000);
    const run = await until(server, id, ...ENDED);
    expect(run).toMatchObject({ status: "completed", steps: [{ attempts: [{ number: 1, status: "completed" }] }] });
  });

  test("the clock set back neither ends a run early nor breaks its times", async () => {
    const id = await start(
      server,
      await agentOf(server, "do: [{one: {wait: {milliseconds: 1500}}}, {two: {set: {a: 1}}}]"),
    );
    await until(server, id, "running");
    const before = await server.clock.now();
    await server.clock.set(before - 60_000);
    expect((await ran(server, agents.three, { n: 1 })).output).toEqual({ n: 4 });
    expect((await readRun(server, id)).status).toBe("running");
    await server.clock.set(before + 2_000);
    const run = await until(server, id, ...ENDED);
    expect(run.status).toBe("completed");
    for (const step of run.steps) expect(step.duration).toBeGreaterThanOrEqual(0);
  });

  test("open runs go on when their agent is paused; new ones are refused", async () => {
    const agent = await agentOf(server, "do: [{one: {wait: {milliseconds: 1500}}}]");
    const id = await start(server, agent);
    await server.data("mutation($input: SetAgentStatusInput!) { setAgentStatus(input: $input) { status } }", {
      input: { agentId: agent, status: "paused" },
    });
    expect(codeOf(await server.graphql(`mutation { runAgent(input: {agentId: "${agent}"}) { id } }`))).toBe("CONFLICT");
    expect((await until(server, id, ...ENDED)).status).toBe("completed");
  });

  test("a version is for life: publishing another changes nothing for an open run", async () => {
    const body = (value: number): string =>
      `do: [{one: {wait: {milliseconds: 1500}}}, {two: {set: {value: ${value}}}}]`;
    const agent = await agentOf(server, body(1), "versioned");
    const id = await start(server, agent);
    await server.data("mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }", {
      input: {
        projectId: server.world.projectId,
        definition: `document: {dsl: '1.0.3', namespace: test, name: versioned, version: '2.0.0'}\n${body(2)}`,
      },
    });
    expect((await ran(server, agent)).output).toEqual({ value: 2 });
    expect(await until(server, id, ...ENDED)).toMatchObject({ version: "1.0.0", output: { value: 1 } });
  });
});

describe("cancel", () => {
  test("while it waits: its steps too, at once, and again with the same answer", async () => {
    const id = await start(server, agents.patient);
    await eventually(async () => (await readRun(server, id)).steps.length === 1);
    const first = await cancel(id);
    expect(first.data.cancelRun).toEqual({ id, status: "cancelled", cancelledAt: expect.any(String) });
    expect((await cancel(id)).data).toEqual(first.data);
    const run = await readRun(server, id);
    expect(run).toMatchObject({
      status: "cancelled",
      cancelledAt: run.finishedAt,
      output: null,
      error: null,
      currentStep: 1,
      steps: [{ status: "cancelled", finishedAt: run.finishedAt, attempts: [{ status: "cancelled" }] }],
    });
    expect(run.progress).toBeLessThan(100);
    await server.clock.advance(3_700_000);
    expect(await readRun(server, id)).toEqual(run);
  });

  test("while it is paused: its question is withdrawn and cannot be decided any more", async () => {
    const id = await start(server, agents.approve);
    const { approvals } = await until(server, id, "paused");
    await cancel(id);
    const run = await readRun(server, id);
    expect(run).toMatchObject({ status: "cancelled", approvals: { nodes: [{ status: "withdrawn" }] } });
    const late = await server.graphql(
      "mutation($input: DecideApprovalInput!) { decideApproval(input: $input) { id } }",
      { input: { approvalId: approvals.nodes[0].id, decision: "reject" } },
    );
    expect(codeOf(late)).toBe("CONFLICT");
    expect(late.errors![0]!.message).toMatch(/withdrawn/);
  });

  test("in the middle of pure work", async () => {
    const id = await start(
      server,
      await agentOf(
        server,
        `do: [{loop: {for: {in: '\${ [range(9000)] }'}, do: [{spin: {set: {n: '\${ [range(20000)] | add }'}}}]}}]`,
      ),
    );
    await until(server, id, "running");
    expect((await cancel(id)).data.cancelRun.status).toBe("cancelled");
    const { revision } = await readRun(server, id);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await readRun(server, id)).toMatchObject({ status: "cancelled", revision });
  });

  test("at the moment it completes: one of both, and both say the same", async () => {
    const agent = await agentOf(server, "do: [{one: {wait: {milliseconds: 100}}}, {two: {set: {a: 1}}}]");
    const outcomes = { cancelled: 0, completed: 0 };
    // Closer to the moment from either side, wherever it is on a busy machine.
    let delayMs = 90;
    for (let round = 0; round < 40; round++) {
      const id = await start(server, agent);
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      const answer = await cancel(id);
      const run = await until(server, id, ...ENDED);
      expect(run.status).toBe(answer.errors ? "completed" : "cancelled");
      if (answer.errors) expect(codeOf(answer)).toBe("CONFLICT");
      else for (const step of run.steps) expect(step.status).not.toBe("running");
      outcomes[answer.errors ? "completed" : "cancelled"]++;
      delayMs = Math.max(0, delayMs + (answer.errors ? -3 : 2));
    }
    // Both came; otherwise nothing was tried.
    expect(Math.min(outcomes.cancelled, outcomes.completed)).toBeGreaterThan(0);
  });

  test("many at once answer the same", async () => {
    const id = await start(server, agents.patient);
    const answers = await Promise.all(Array.from({ length: 20 }, () => cancel(id)));
    expect(new Set(answers.map(({ data }) => JSON.stringify(data))).size).toBe(1);
  });

  test("a completed and a failed run are CONFLICT, and stay as they are", async () => {
    for (const [agent, input, status] of [
      [agents.three, { n: 1 }, "completed"],
      [agents.failing, {}, "failed"],
    ] as const) {
      const run = await ran(server, agent, input);
      const answer = await cancel(run.id);
      expect(codeOf(answer)).toBe("CONFLICT");
      expect(answer.errors![0]!.message).toContain(status);
      expect(await readRun(server, run.id)).toEqual(run);
    }
  });
});

describe("wait", () => {
  const RUN_AGENT =
    "mutation($input: RunAgentInput!) { runAgent(input: $input) { id status output steps { status } } }";

  test("answers when the run has ended, whichever way", async () => {
    expect(await ran(server, agents.three, { n: 1 })).toMatchObject({ status: "completed", output: { n: 4 } });
    expect(await ran(server, agents.failing)).toMatchObject({ status: "failed", error: { status: 422 } });
    const run = await runOf(server, "do: [{one: {wait: PT1.2S}}, {two: {set: {a: 1}}}]");
    expect(run).toMatchObject({ status: "completed", output: { a: 1 } });
  });

  test("answers when it pauses", async () => {
    const run = await ran(server, agents.approve);
    expect(run).toMatchObject({ status: "paused", output: null, steps: [{ name: "ask", status: "paused" }] });
    await cancel(run.id);
  });

  test("answers after the time with the run as it is", async () => {
    const began = performance.now();
    const { data } = await server.graphql(RUN_AGENT, { input: { agentId: agents.patient, wait: 1 } });
    expect(performance.now() - began).toBeGreaterThanOrEqual(950);
    expect(data.runAgent).toMatchObject({ status: "running", output: null, steps: [{ status: "running" }] });
    await cancel(data.runAgent.id);
  });

  test("answers when somebody cancels it", async () => {
    const waiting = server.graphql(RUN_AGENT, {
      input: { agentId: agents.patient, input: { mark: "cancelled" }, wait: 30 },
    });
    const id = await eventually(async () => {
      const { runs } = await server.data(
        `{ runs(filter: {agentId: "${agents.patient}", status: [running]}) { nodes { id input } } }`,
      );
      return runs.nodes.find(({ input }: Data) => input.mark === "cancelled")?.id as string | undefined;
    });
    await cancel(id);
    expect((await waiting).data.runAgent).toMatchObject({ id, status: "cancelled", steps: [{ status: "cancelled" }] });
  });

  test("with a known key it waits for the run that there is", async () => {
    const agent = await agentOf(server, "do: [{one: {wait: {milliseconds: 1500}}}, {two: {set: {a: 1}}}]");
    const input = { agentId: agent, idempotencyKey: "w" };
    const { runAgent: first } = await server.data(RUN_AGENT, { input });
    const again = await server.data(RUN_AGENT, { input: { ...input, wait: 30 } });
    expect(again.runAgent).toMatchObject({ id: first.id, status: "completed", output: { a: 1 } });
    const late = await server.data(RUN_AGENT, { input: { ...input, wait: 30 } });
    expect(late.runAgent).toEqual(again.runAgent);
  });

  test("goes on over a pause when it was decided before", async () => {
    const agent = await agentOf(
      server,
      "do: [{ask: {call: approval:1.0.0@default, with: {question: Now?}}}, {rest: {wait: PT1.2S}}, {done: {set: {a: 1}}}]",
    );
    const input = { agentId: agent, idempotencyKey: "p" };
    const { runAgent: paused } = await server.data(RUN_AGENT, { input: { ...input, wait: 30 } });
    expect(paused.status).toBe("paused");
    await decide(server, paused.id, "approve");
    // A slow look may come after its rest of 1.2 s.
    await until(server, paused.id, "running", "completed");
    const { runAgent: done } = await server.data(RUN_AGENT, { input: { ...input, wait: 30 } });
    expect(done).toMatchObject({ id: paused.id, status: "completed", output: { a: 1 } });
    expect(stepsOf(await readRun(server, paused.id))).toEqual(["ask completed", "rest completed", "done completed"]);
  });
});
