/** An operator's work with runs, over the wire: later, again, from a step on, many at once, few at a time. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectInTime } from "./in-time.ts";
import { DEFINITIONS, publish, start } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { agentOf, decide, ENDED, ran, readRun, stepsOf, until } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

const HOUR_MS = 3_600_000;
/** Queued runs are looked after this often. */
const SWEEP_MS = 5_000;

let server: MovedServer;
beforeAll(async () => {
  server = await movedServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const publishText = (definition: string): Promise<Data> =>
  server.data("mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }", {
    input: { projectId: server.world.projectId, definition },
  });

describe("runAt", () => {
  const START = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id status runAt startedAt } }";

  test("begins then and not before; a time that has passed is now", async () => {
    const agentId = await publish(server, "echo");
    const now = await server.clock.now();
    const runAt = new Date(now + HOUR_MS).toISOString();
    const { runAgent: later } = await server.data(START, { input: { agentId, runAt } });
    expect(later).toMatchObject({ status: "pending", runAt, startedAt: null });
    const past = new Date(now - HOUR_MS).toISOString();
    const { runAgent: soon } = await server.data(START, { input: { agentId, runAt: past } });
    expect(soon.runAt).toBeNull();
    await until(server, soon.id, "completed");
    expect((await until(server, later.id, "pending")).startedAt).toBeNull();
    // To that time, however long this took: it must not count as lateness.
    await server.clock.advance(Date.parse(runAt) - (await server.clock.now()));
    const run = await until(server, later.id, "completed");
    expect(Date.parse(run.startedAt) - Date.parse(runAt)).toBeGreaterThanOrEqual(0);
    expect(Date.parse(run.startedAt) - Date.parse(runAt)).toBeLessThan(5_000);
  });

  test("one that is cancelled before never begins; an invalid time is refused", async () => {
    const agentId = await publish(server, "echo");
    const runAt = new Date((await server.clock.now()) + HOUR_MS).toISOString();
    const { runAgent } = await server.data(START, { input: { agentId, runAt } });
    await server.data(`mutation { cancelRun(runId: "${runAgent.id}") { id } }`);
    await server.clock.advance(HOUR_MS);
    expect(await until(server, runAgent.id, ...ENDED)).toMatchObject({ status: "cancelled", startedAt: null });
    for (const no of [
      "tomorrow",
      "2027-02-30T00:00:00Z",
      "2027-01-01T24:00:00Z",
      "2027-01-01T00:00:60Z",
      "2027-01-01",
    ]) {
      const { errors } = await server.graphql(START, { input: { agentId, runAt: no } });
      expect(errors?.[0]?.extensions.code, no).toBe("BAD_USER_INPUT");
    }
  });
});

describe("rerunRun", () => {
  test("starts a run with the same input on the published version", async () => {
    const agentId = await agentOf(server, "do:\n  - old: {set: {old: '${ .n }'}}\n", "again");
    const first = await ran(server, agentId, { n: 7 });
    await publishText(
      `document: {dsl: '1.0.3', namespace: test, name: again, version: '2.0.0'}\ndo:\n  - fresh: {set: {fresh: '\${ .n }'}}\n`,
    );
    const { rerunRun } = await server.data(
      "mutation($input: RerunRunInput!) { rerunRun(input: $input) { id input version retryOf { id } startedBy { kind } } }",
      { input: { runId: first.id } },
    );
    expect(rerunRun).toMatchObject({
      input: { n: 7 },
      version: "2.0.0",
      retryOf: null,
      startedBy: { kind: "key" },
    });
    expect(rerunRun.id).not.toBe(first.id);
    expect((await until(server, rerunRun.id, "completed")).output).toEqual({ fresh: 7 });
  });
});

describe("retryRun", () => {
  const RETRY =
    "mutation($input: RetryRunInput!) { retryRun(input: $input) { id version status input retryOf { id status } } }";
  const retry = (input: object) => server.graphql(RETRY, { input });
  const version = (name: string, number: string, body: string): string =>
    `document: {dsl: '1.0.3', namespace: test, name: ${name}, version: '${number}'}\ndo:\n${body}`;
  const FIRST = "  - first: {set: {n: '${ .n + 1 }'}}\n";
  const BROKEN = "  - second: {raise: {error: {type: 'https://example.org/errors/broken', status: 500}}}\n";

  test("goes on from the failed step on another version, with the results before it", async () => {
    const agentId = await agentOf(server, `do:\n${FIRST}${BROKEN}`, "mended");
    const failed = await ran(server, agentId, { n: 1 });
    expect(stepsOf(failed)).toEqual(["first completed", "second failed"]);
    await publishText(version("mended", "1.1.0", `${FIRST}  - second: {set: {n: '\${ .n * 10 }'}}\n`));
    const { data: same } = await retry({ runId: failed.id });
    expect((await until(server, same.retryRun.id, ...ENDED)).status).toBe("failed");
    const { data } = await retry({ runId: failed.id, version: "1.1.0" });
    expect(data.retryRun).toMatchObject({ input: { n: 1 }, retryOf: { id: failed.id, status: "failed" } });
    const run = await until(server, data.retryRun.id, ...ENDED);
    expect(run).toMatchObject({ status: "completed", output: { n: 20 } });
    expect(run.steps[0].finishedAt).toBe(failed.steps[0].finishedAt);
  });

  test.each([
    ["has no such task", "  - other: {set: {n: 2}}\n"],
    ["has another task there", "  - first: {wait: {milliseconds: 1}}\n"],
  ])("names the step that does not fit when the version %s", async (title, body) => {
    const name = title.replaceAll(" ", "-");
    const failed = await ran(server, await agentOf(server, `do:\n${FIRST}${BROKEN}`, name), { n: 1 });
    await publishText(version(name, "1.1.0", body));
    const { errors } = await retry({ runId: failed.id, version: "1.1.0" });
    expect(errors![0]).toMatchObject({
      message: expect.stringMatching(/^step 1 \(first, set\) does not fit: version 1\.1\.0 /),
      extensions: { code: "CONFLICT" },
    });
  });

  test("a mended definition of the same task is taken, and what was before it is not done again", async () => {
    const asks =
      "  - ask: {call: 'approval:1.0.0@default', with: {question: Really?}}\n  - keep: {set: {said: '${ .comment }'}}\n";
    const divide = (by: string): string => `  - divide: {set: {said: '\${ .said }', n: '\${ 1 / ${by} | floor }'}}\n`;
    const agentId = await agentOf(server, `do:\n${asks}${divide("(0 | tojson)")}`, "asked");
    const first = await start(server, agentId);
    await decide(server, first, "approve", { comment: "yes" });
    const failed = await until(server, first, "failed");
    expect(stepsOf(failed)).toEqual(["ask completed", "keep completed", "divide failed"]);
    await publishText(version("asked", "2.0.0", `${asks}${divide("2")}`));
    const { data } = await retry({ runId: first, version: "2.0.0" });
    expect(data.retryRun).toMatchObject({ version: "2.0.0", retryOf: { id: first, status: "failed" } });
    const run = await until(server, data.retryRun.id, ...ENDED);
    expect(run).toMatchObject({ status: "completed", output: { said: "yes", n: 0 } });
    expect(run.approvals.nodes).toMatchObject([{ status: "approved" }]);
    expect(run.steps[0].finishedAt).toBe(failed.steps[0].finishedAt);
  });

  test("work cancelled beside the failed step is repeated: a child, a question, a wait, a try", async () => {
    await agentOf(server, "do: [{pause: {wait: {hours: 1}}}]", "patient-child");
    const branches = (last: string): string => `  - all:
      fork:
        branches:
          - child: {run: {workflow: {namespace: test, name: patient-child, version: latest, input: {}}}}
          - ask: {call: 'approval:1.0.0@default', with: {question: Really?}}
          - list: {do: [{done: {set: {a: 1}}}, {nap: {wait: {hours: 1}, timeout: {after: {hours: 2}}}}]}
          - attempt: {try: [{nap: {wait: {hours: 1}}}], catch: {retry: {limit: {attempt: {count: 1, duration: {hours: 2}}}}}}
          - last: {do: [{pause: {wait: {milliseconds: 300}}}, {mend: ${last}}]}
`;
    const broken = "{raise: {error: {type: 'https://example.org/errors/broken', status: 500}}}";
    const agentId = await agentOf(server, `do:\n${branches(broken)}`, "branches");
    const first = await start(server, agentId);
    const failed = await until(server, first, "failed");
    const from = failed.steps.find(({ name }: Data) => name === "mend").number;
    await publishText(version("branches", "1.1.0", branches("{set: {b: 1}}")));
    await server.clock.advance(3 * HOUR_MS);
    const { data } = await retry({ runId: first, fromStep: from, version: "1.1.0" });
    const { id } = data.retryRun;
    await decide(server, id, "approve");
    await until(server, id, "running");
    const kept = (await readRun(server, id)).steps.find(({ name }: Data) => name === "done");
    expect(kept).toEqual(failed.steps.find(({ name }: Data) => name === "done"));
    const ofChildren = `{ run(id: "${id}") { children(first: 5) { nodes { status } } } }`;
    await expect.poll(async () => (await server.data(ofChildren)).run.children.nodes).toEqual([{ status: "running" }]);
    await server.clock.advance(HOUR_MS + 1_000);
    const run = await until(server, id, ...ENDED);
    expect(run).toMatchObject({ status: "completed", error: null });
    for (const name of ["child", "list", "attempt"]) {
      const { duration, attempts } = run.steps.find((step: Data) => step.name === name);
      expect([name, duration >= HOUR_MS, attempts.length]).toEqual([name, true, 1]);
    }
  });

  test("a timeout and a try around the step start over", async () => {
    const body = (last: string): string => `  - list:
      do:
        - attempt:
            try: [{last: ${last}}]
            catch: {retry: {when: '\${ false }', limit: {attempt: {count: 1, duration: PT1M}, duration: PT2M}}}
      timeout: {after: PT3M}
`;
    const broken = "{raise: {error: {type: 'https://example.org/errors/broken', status: 500}}}";
    const failed = await ran(server, await agentOf(server, `do:\n${body(broken)}`, "times"));
    expect(stepsOf(failed)).toEqual(["list failed", "attempt failed", "last failed"]);
    await publishText(version("times", "1.1.0", body("{set: {n: 1}}")));
    await server.clock.advance(HOUR_MS);
    const { data } = await retry({ runId: failed.id, version: "1.1.0" });
    expect(await until(server, data.retryRun.id, ...ENDED)).toMatchObject({ status: "completed", output: { n: 1 } });
  });

  test("from a step that is named; unknown steps, open runs and unknown versions are refused", async () => {
    const agentId = await publish(server, "three");
    const first = await ran(server, agentId, { n: 1 });
    const { data } = await retry({ runId: first.id, fromStep: 3 });
    const second = await until(server, data.retryRun.id, "completed");
    expect(second.output).toEqual({ n: 4 });
    expect(second.steps.map((step: Data) => step.finishedAt).slice(0, 2)).toEqual(
      first.steps.map((step: Data) => step.finishedAt).slice(0, 2),
    );
    for (const fromStep of [0, -1, 4, 2 ** 31 - 1]) {
      expect((await retry({ runId: first.id, fromStep })).errors![0]!.extensions).toMatchObject({
        code: "BAD_USER_INPUT",
        fields: [{ path: "input.fromStep", code: "unknown" }],
      });
    }
    for (const unknown of ["9.9.9", "", "\u0000"]) {
      expect((await retry({ runId: first.id, fromStep: 1, version: unknown })).errors![0]).toMatchObject({
        message: "Version not found: the newest are 1.0.0",
        extensions: { code: "NOT_FOUND" },
      });
    }
    const open = await start(server, await publish(server, "patient"));
    expect((await retry({ runId: open })).errors![0]!.extensions.code).toBe("CONFLICT");
  });
});

describe("relatives", () => {
  const FAMILY = `query($id: ID!) { run(id: $id) {
    id parent { id } retryOf { id } children(first: 2) { nodes { id parent { id } agent { handle } } pageInfo { hasNextPage endCursor } }
    steps { name position child { id status startedBy { kind id } } } } }`;
  const family = async (id: string): Promise<Data> => (await server.data(FAMILY, { id })).run;

  test("a run shows its parent and its children, by pages, and a step the run it started", async () => {
    await agentOf(server, "do:\n  - greet: {set: {hello: '${ .who }'}}\n", "greeter");
    const greet = (name: string): string =>
      `  - ${name}: {run: {workflow: {namespace: test, name: greeter, version: latest, input: {who: ${name}}}}}\n`;
    const agentId = await agentOf(server, `do:\n${greet("ada")}${greet("grace")}${greet("joan")}`);
    const run = await ran(server, agentId);
    expect(run).toMatchObject({ status: "completed", output: { hello: "joan" } });
    const shown = await family(run.id);
    expect(shown).toMatchObject({ parent: null, retryOf: null });
    const children = shown.steps.map(({ child }: Data) => child);
    expect(children).toEqual(
      Array.from({ length: 3 }, () => ({
        id: expect.stringMatching(/^run_/),
        status: "completed",
        startedBy: { kind: "run", id: run.id },
      })),
    );
    const { nodes, pageInfo } = shown.children;
    expect(nodes.map(({ id }: Data) => id)).toEqual([children[2].id, children[1].id]);
    expect(nodes[0]).toMatchObject({ parent: { id: run.id }, agent: { handle: "greeter" } });
    expect(pageInfo.hasNextPage).toBe(true);
    const { run: rest } = await server.data(
      `{ run(id: "${run.id}") { children(after: "${pageInfo.endCursor}") { nodes { id } pageInfo { hasNextPage } } } }`,
    );
    expect(rest.children).toEqual({ nodes: [{ id: children[0].id }], pageInfo: { hasNextPage: false } });
    const child = await family(children[0].id);
    expect(child).toMatchObject({ parent: { id: run.id }, children: { nodes: [] } });
    expect(child.steps).toEqual([{ name: "greet", position: "greet#1", child: null }]);
  });

  test("runs start runs 16 deep, one that starts itself too", async () => {
    const agentId = await agentOf(
      server,
      "do: [{again: {run: {workflow: {namespace: test, name: itself, version: latest}}}}]",
      "itself",
    );
    const run = await ran(server, agentId);
    expect(run).toMatchObject({ status: "failed", error: { detail: "runs can start runs at most 16 levels deep" } });
    const { runs } = await server.data("query($filter: RunFilter!) { runs(filter: $filter) { nodes { status } } }", {
      filter: { agentId },
    });
    expect(runs.nodes).toEqual(Array.from({ length: 17 }, () => ({ status: "failed" })));
  });

  test("a step whose run was never started has none", async () => {
    const run = await ran(
      server,
      await agentOf(server, "do:\n  - call: {run: {workflow: {namespace: test, name: nobody, version: latest}}}\n"),
    );
    expect(run.status).toBe("failed");
    expect((await family(run.id)).steps).toEqual([{ name: "call", position: "call#1", child: null }]);
  });

  test("visits, items and branches are told apart by their position", async () => {
    const body = `do:
  - loop: {for: {each: one, in: '\${ ["a", "b"] }'}, do: [{say: {set: {was: '\${ $one }'}}}]}
  - both: {fork: {branches: [{left: {set: {side: left}}}, {right: {set: {side: right}}}]}}
  - each: {call: 'each:1.0.0@default', with: {in: '\${ [1, 2] }', do: [{twice: {set: {n: 2}}}]}}
`;
    const run = await ran(server, await agentOf(server, body));
    expect(run.error).toBeNull();
    const positions = (await family(run.id)).steps.map(({ position }: Data) => position);
    expect(positions.toSorted()).toEqual([
      "both#1",
      "both#1/left#1",
      "both#1/right#1",
      "each#1",
      "each#1/1/twice#1",
      "each#1/2/twice#1",
      "loop#1",
      "loop#1/1/say#1",
      "loop#1/2/say#1",
    ]);
  });
});

describe("setAgentLimit", () => {
  const SET = "mutation($input: SetAgentLimitInput!) { setAgentLimit(input: $input) { id concurrency } }";
  const set = (agentId: string, concurrency: number | null | undefined) =>
    server.graphql(SET, { input: { agentId, ...(concurrency !== undefined && { concurrency }) } });
  const limit = async (agentId: string, concurrency: number | null | undefined): Promise<unknown> =>
    (await set(agentId, concurrency)).data.setAgentLimit;
  const begun = async (agentId: string): Promise<string[]> =>
    (
      await server.data(`{ runs(filter: {agentId: "${agentId}", status: [running, paused]}) { nodes { id } } }`)
    ).runs.nodes.map(({ id }: Data) => id);
  const waits = (): Promise<string> => agentOf(server, "do:\n  - pause: {wait: {days: 20}}\n");
  const cancel = (id: string) => server.data(`mutation { cancelRun(runId: "${id}") { id } }`);
  const pending = (agentId: string): Promise<Data> =>
    server.data(`{ runs(filter: {agentId: "${agentId}", status: pending}) { nodes { id } } }`);

  test("counts the runs that are open already, queues what is over it, and admits them in order", async () => {
    const agentId = await waits();
    const ids: string[] = [];
    for (let count = 0; count < 3; count++) ids.push(await start(server, agentId));
    await eventually(async () => (await begun(agentId)).length === 3);
    expect(await limit(agentId, 2)).toEqual({ id: agentId, concurrency: 2 });
    expect((await server.data(`{ agent(id: "${agentId}") { concurrency } }`)).agent.concurrency).toBe(2);
    for (let count = 0; count < 3; count++) ids.push(await start(server, agentId));
    await cancel(ids[0]!);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await begun(agentId)).toEqual([ids[2], ids[1]]);
    await cancel(ids[1]!);
    await eventually(async () => (await begun(agentId)).join() === [ids[3], ids[2]].join());
    expect(await limit(agentId, null)).toEqual({ id: agentId, concurrency: null });
    // At once, not by the next sweep.
    await eventually(async () => (await begun(agentId)).length === 4, 2_000);
    expect((await pending(agentId)).runs.nodes).toEqual([]);
    await start(server, agentId);
    await eventually(async () => (await begun(agentId)).length === 5);
  });

  test("holds for runs that were accepted before it and have not begun", async () => {
    const agentId = await waits();
    const runAt = new Date((await server.clock.now()) + HOUR_MS).toISOString();
    for (let count = 0; count < 3; count++) {
      await server.data("mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }", {
        input: { agentId, runAt },
      });
    }
    await limit(agentId, 1);
    await server.clock.advance(HOUR_MS);
    await server.clock.advance(SWEEP_MS);
    await eventually(async () => (await begun(agentId)).length === 1);
    await server.clock.advance(SWEEP_MS);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await begun(agentId)).toHaveLength(1);
    await limit(agentId, null);
    await eventually(async () => (await begun(agentId)).length === 3);
  });

  /** From when it was to begin until it did, ms; at once, if that had passed when it was accepted. */
  const lateness = async (id: string): Promise<number> => {
    const { runAt, createdAt, startedAt } = (await server.data(`{ run(id: "${id}") { runAt createdAt startedAt } }`))
      .run;
    return Date.parse(startedAt) - Date.parse(runAt ?? createdAt);
  };

  test("runs of a limited agent begin at their time, not at the next sweep", async () => {
    const agentId = await publish(server, "echo");
    await limit(agentId, 1);
    const ids: string[] = [];
    const startAt = async (time: number): Promise<void> => {
      const input = { agentId, runAt: new Date(time).toISOString() };
      ids.push(
        (await server.data("mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }", { input })).runAgent
          .id,
      );
    };
    const now = await server.clock.now();
    for (const ms of [600, 1_600, 2_600, 3_600]) await startAt(now + HOUR_MS + ms);
    await server.clock.advance(now + HOUR_MS - (await server.clock.now()));
    for (const ms of [1_100, 2_100, 3_100]) await startAt(now + HOUR_MS + ms);
    const late: number[] = [];
    for (const id of ids) {
      await until(server, id, "completed");
      late.push(await lateness(id));
    }
    expect(Math.min(...late)).toBeGreaterThanOrEqual(0);
    // By sweeps the one in the middle would be a second and a half late; a busy machine delays one or two.
    expectInTime(late.toSorted((a, b) => a - b)[3]!, 1_000);
  });

  test("holds for runs in memory: the end of one makes room at once", async () => {
    const agentId = await agentOf(server, "do:\n  - nap: {wait: {milliseconds: 900}}\n");
    const first = await start(server, agentId);
    await limit(agentId, 1);
    const next = await start(server, agentId);
    const third = await start(server, agentId);
    const finished = async (id: string): Promise<number> =>
      Date.parse((await until(server, id, "completed")).finishedAt);
    const began = async (id: string): Promise<number> => Date.parse((await until(server, id, "completed")).startedAt);
    expect((await begun(agentId)).length).toBeLessThanOrEqual(1);
    for (const [before, after] of [
      [first, next],
      [next, third],
    ] as const) {
      const pause = (await began(after)) - (await finished(before));
      expect(pause).toBeGreaterThanOrEqual(0);
      expectInTime(pause, 2_000);
    }
  });

  test("a run that pauses counts, and its end makes room", async () => {
    const agentId = await agentOf(server, "do:\n  - ask: {call: 'approval:1.0.0@default', with: {question: Go?}}\n");
    await limit(agentId, 1);
    const first = await start(server, agentId);
    await until(server, first, "paused");
    const second = await start(server, agentId);
    expect((await until(server, second, "pending", "paused")).status).toBe("pending");
    await decide(server, first, "approve");
    await until(server, second, "paused");
  });

  test("is at least 1, and stays as it is when it is left out", async () => {
    const agentId = await publish(server, "echo");
    for (const bad of [0, -1]) {
      expect((await set(agentId, bad)).errors![0]!.extensions).toMatchObject({
        code: "BAD_USER_INPUT",
        fields: [{ path: "input.concurrency", code: "out_of_range" }],
      });
    }
    await limit(agentId, 2 ** 31 - 1);
    expect(await limit(agentId, undefined)).toEqual({ id: agentId, concurrency: 2 ** 31 - 1 });
    expect((await ran(server, agentId, { a: 1 })).output).toEqual({ a: 1 });
    // Published again, it keeps its limit.
    await publishText(DEFINITIONS.echo.replace("1.0.0", "1.1.0"));
    expect((await server.data(`{ agent(id: "${agentId}") { concurrency version } }`)).agent).toEqual({
      concurrency: 2 ** 31 - 1,
      version: "1.1.0",
    });
  });
});
