/** The steps of a run, over the wire: each step as an object of its own, level by level and by status. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { publish, start } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";
import { agentOf, answered, decide, ENDED, ran, until } from "./runs.ts";

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/** Loops in loops, branches, tries, a way back. */
const NESTED = `do:
  - twice: {set: {n: '\${ (.n // 0) + 1 }'}}
  - again: {switch: [{more: {when: '\${ .n < 2 }', then: twice}}, {enough: {then: continue}}]}
  - loop:
      for: {in: '\${ [1, 2] }'}
      do:
        - both: {fork: {branches: [{left: {set: {a: 1}}}, {right: {do: [{deep: {set: {b: 1}}}]}}]}}
  - each:
      call: each:1.0.0@default
      with:
        in: '\${ [1, 2, 3] }'
        do:
          - safe:
              try: [{odd: {switch: [{no: {when: '\${ . == 2 }', then: broken}}, {yes: {then: exit}}]}},
                    {broken: {raise: {error: {type: 'https://example.org/errors/x', status: 500}}}}]
              catch: {do: [{mend: {set: {mended: true}}}]}
  - skipped: {if: '\${ false }', set: {n: 0}}`;

const STEP = "id number parentNumber item visit position name status";
const steps = async (id: string, list: string): Promise<Data[]> =>
  (await server.data(`{ run(id: "${id}") { ${list} { ${STEP} } } }`)).run.steps;

/** The position without its last part and the number of an item or \`catch\` before it. */
const around = (position: string): string => position.replace(/(^|\/)(\d+\/|catch\/)?[^/]+$/, "");

describe("a run of loops, branches and tries", () => {
  let id: string;
  let all: Data[];
  beforeAll(async () => {
    const agentId = await agentOf(server, NESTED);
    ({ id } = await ran(server, agentId));
    all = await steps(id, "steps");
  });

  test("each step says what encloses it, for which item and at which visit it came", () => {
    const numbers = new Map(all.map(({ position, number }) => [position, number]));
    expect(all.length).toBe(23);
    for (const step of all) {
      const parent = around(step.position);
      expect(step.parentNumber, step.position).toBe(parent === "" ? null : numbers.get(parent));
      const [, item, visit] = /(?:\/(\d+)\/)?[^/]+#(\d+)$/.exec(step.position)!;
      expect([step.item, step.visit], step.position).toEqual([item ? Number(item) : null, Number(visit)]);
    }
    const at = (position: string) => all.find((step) => step.position === position);
    expect(at("twice#2")).toMatchObject({ parentNumber: null, item: null, visit: 2 });
    expect(at("loop#1/2/both#1")).toMatchObject({ parentNumber: at("loop#1").number, item: 2, visit: 1 });
    expect(at("loop#1/2/both#1/right#1/deep#1")).toMatchObject({ item: null });
    expect(at("each#1/2/safe#1/catch/mend#1")).toMatchObject({ parentNumber: at("each#1/2/safe#1").number });
  });

  test("steps are read one level at a time, by status, and both, in the list and in its pages", async () => {
    const numbers = (list: Data[]): number[] => list.map(({ number }) => number);
    for (const parent of [0, ...numbers(all)]) {
      const inside = all.filter(({ parentNumber }) => (parentNumber ?? 0) === parent);
      expect(numbers(await steps(id, `steps(parentNumber: ${parent})`)), String(parent)).toEqual(numbers(inside));
    }
    const of = (...wanted: string[]) => numbers(all.filter(({ status }) => wanted.includes(status)));
    expect(numbers(await steps(id, "steps(status: [failed, skipped])"))).toEqual(of("failed", "skipped"));
    expect(of("failed", "skipped").length).toBe(2);
    expect(await steps(id, "steps(status: [])")).toEqual([]);
    expect(await steps(id, "steps(parentNumber: 99)")).toEqual([]);
    expect(numbers(await steps(id, "steps(status: null, parentNumber: null, after: null)"))).toEqual(numbers(all));
    const inTry = all.filter(({ parentNumber }) => parentNumber === all.find(({ name }) => name === "safe").number);
    const failed = inTry.filter(({ status }) => status === "failed");
    const [{ parentNumber }] = inTry;
    expect(numbers(await steps(id, `steps(parentNumber: ${parentNumber}, status: failed)`))).toEqual(numbers(failed));
    const page = async (after: string | null) =>
      (
        await server.data(
          `query($after: String) { run(id: "${id}") { stepsConnection(first: 3, after: $after, parentNumber: 0, status: completed) {
             nodes { number } pageInfo { endCursor hasNextPage } } } }`,
          { after },
        )
      ).run.stepsConnection;
    const first = await page(null);
    const second = await page(first.pageInfo.endCursor);
    expect([first.pageInfo.hasNextPage, second.pageInfo.hasNextPage]).toEqual([true, false]);
    const top = all.filter((step) => step.parentNumber === null && step.status === "completed");
    expect(numbers([...first.nodes, ...second.nodes])).toEqual(numbers(top));
  });

  test("an id finds its step, and nothing else does", async () => {
    expect(new Set(all.map((step) => step.id)).size).toBe(all.length);
    const node = (wanted: string, token?: string) =>
      server.graphql(
        `query($id: ID!) { node(id: $id) { __typename id ... on Step { ${STEP} } } }`,
        { id: wanted },
        token,
      );
    for (const step of [all[0], all.at(-1)]) {
      expect((await node(step.id)).data.node).toEqual({ __typename: "Step", ...step });
    }
    expect(all[0].id).toBe(`step_${id.slice("run_".length)}_1`);
    const bare = all[0].id.slice(0, -2);
    const wrong = [
      bare,
      `${bare}_`,
      `${bare}_0`,
      `${bare}_01`,
      `${bare}_99`,
      `${bare}_-1`,
      `${bare}_1 `,
      `${bare}_1_1`,
    ];
    const more = [`${bare}_999999999`, `${bare}_99999999999999`, `step_${"0".repeat(26)}_1`, all[0].id.toUpperCase()];
    for (const one of [...wrong, ...more, "step_", "step_1", `step_${"z".repeat(26)}_1`]) {
      const { errors } = await node(one);
      expect([errors?.[0]!.extensions.code, errors?.[0]!.message], one).toEqual(["NOT_FOUND", expect.any(String)]);
    }
    const { apiKey } = await server.organization("another");
    expect((await node(all[0].id, apiKey)).errors![0]!.extensions.code).toBe("NOT_FOUND");
    const reader = await server.key(["runs:read"]);
    expect((await node(all[0].id, reader)).data.node.id).toBe(all[0].id);
    expect((await node(all[0].id, await server.key(["agents:read"]))).errors![0]!.extensions.code).toBe("FORBIDDEN");
  });
});

test("the answer of runAgent has the same steps as run: whole, by level, and in pages", async () => {
  const agentId = await agentOf(server, NESTED);
  const LISTS = `all: steps { ${STEP} } top: steps(parentNumber: 0) { ${STEP} } failed: steps(status: failed) { number }
    page: stepsConnection(first: 2, parentNumber: 0) { nodes { number } pageInfo { hasNextPage } }`;
  const { runAgent } = await server.data(
    `mutation($input: RunAgentInput!) { runAgent(input: $input) { id ${LISTS} } }`,
    { input: { agentId, wait: 30 } },
  );
  const { run } = await server.data(`{ run(id: "${runAgent.id}") { id ${LISTS} } }`);
  expect(runAgent).toEqual(run);
});

test("the answer of runAgent is right for a run of more steps than a list has", async () => {
  const agentId = await agentOf(server, "do: [{loop: {for: {in: '${ [range(1100)] }'}, do: [{one: {set: {n: 1}}}]}}]");
  const LISTS = `next: steps(after: 990) { number } last: stepsConnection(first: 200, after: $after) { nodes { number } pageInfo { hasNextPage } }`;
  const input = { agentId, idempotencyKey: "many" };
  const before = await answered(server, "steps { number } stepsConnection(first: 200) { edges { cursor } }", input);
  expect([before.status, before.steps.length, before.stepsConnection.edges.length]).toEqual(["completed", 1000, 200]);
  // Another cursor of the same list, made as the server makes them.
  const cursor = Buffer.from(before.stepsConnection.edges[0].cursor, "base64url").toString().replace(/ 1$/, " 890");
  const { runAgent } = await server.data(
    `mutation($input: RunAgentInput!, $after: String) { runAgent(input: $input) { ${LISTS} } }`,
    { input: { ...input, wait: 30 }, after: Buffer.from(cursor).toString("base64url") },
  );
  expect([runAgent.next.length, runAgent.last.nodes.length, runAgent.last.pageInfo.hasNextPage]).toEqual([
    111,
    200,
    true,
  ]);
});

test("a watched run's events have the same steps; so has a run that retries another", async () => {
  const agentId = await agentOf(
    server,
    `do:
  - loop:
      for: {in: '\${ [1, 2] }'}
      do: [{one: {set: {n: 1}}}, {ask: {call: 'approval:1.0.0@default', with: {question: Sure?}}}]`,
  );
  const id = await start(server, agentId);
  await decide(server, id, "approve");
  const old = await eventually(async () => {
    const now = await steps(id, "steps");
    return now[4]?.status === "paused" ? now : undefined;
  });
  const seen = new Map<number, Data>();
  const events = server.watch(`subscription { runEvents(runId: "${id}") { run { status } step { ${STEP} } } }`);
  const first = await events.next();
  await decide(server, id, "reject");
  for (let { value } = first; value; { value } = await events.next()) {
    const { step, run } = value.data.runEvents;
    if (step) seen.set(step.number, step);
    if (run && ENDED.includes(run.status)) break;
  }
  expect([...seen.values()].toSorted((a, b) => a.number - b.number)).toEqual(await steps(id, "steps"));
  const { retryRun } = await server.data(`mutation { retryRun(input: {runId: "${id}"}) { id } }`);
  await until(server, retryRun.id, "paused");
  const kept = await steps(retryRun.id, "steps");
  const shape = ({ id: _id, status: _status, ...step }: Data) => step;
  expect(kept.map(shape)).toEqual(old.map(shape));
  const asked = async (run: string) =>
    (await server.data(`{ run(id: "${run}") { steps { approval { status run { id } } } } }`)).run.steps;
  expect((await asked(retryRun.id))[2].approval).toEqual({ status: "approved", run: { id: retryRun.id } });
  expect((await asked(id)).map(({ approval }: Data) => approval?.status)).toEqual([
    undefined,
    undefined,
    "approved",
    undefined,
    "rejected",
  ]);
  await server.data(`mutation { cancelRun(runId: "${retryRun.id}") { id } }`);
  expect((await steps(retryRun.id, "steps")).map(shape)).toEqual(old.map(shape));
});

test("an error names the step that raised it, in the run, the step and its attempt", async () => {
  const { id } = await ran(server, await publish(server, "failing"));
  const { run } = await server.data(
    `{ run(id: "${id}") { error { stepNumber } steps { error { stepNumber } attempts { error { stepNumber } } } } }`,
  );
  expect(run).toEqual({
    error: { stepNumber: 2 },
    steps: [
      { error: null, attempts: [{ error: null }] },
      { error: { stepNumber: 2 }, attempts: [{ error: { stepNumber: 2 } }] },
    ],
  });
});

const COUNTS = "{ status count }";

describe("what is shown of a run besides its steps", () => {
  test("folded loops and branches say how many steps are inside, by status", async () => {
    const agentId = await agentOf(server, NESTED);
    const SHOWN = `stepCount steps { number parentNumber status childCounts ${COUNTS} }`;
    const { runAgent } = await server.data(
      `mutation($input: RunAgentInput!) { runAgent(input: $input) { id ${SHOWN} } }`,
      { input: { agentId, wait: 30 } },
    );
    const { run } = await server.data(`{ run(id: "${runAgent.id}") { id ${SHOWN} } }`);
    expect(runAgent).toEqual(run);
    expect(run.stepCount).toBe(23);
    for (const { number, childCounts } of run.steps) {
      const inside: Data[] = run.steps.filter(({ parentNumber }: Data) => parentNumber === number);
      const counts = Map.groupBy(inside, ({ status }) => status);
      const expected = Object.fromEntries([...counts].map(([status, list]) => [status, list.length]));
      expect(Object.fromEntries(childCounts.map(({ status, count }: Data) => [status, count]))).toEqual(expected);
    }
  });

  test("a run says what it waits for: times, approvals, a child and the next try, in the order of steps", async () => {
    await agentOf(server, "do: [{pause: {wait: {hours: 3}}}]", "sleeper");
    const approval = (name: string, more = "") =>
      `{${name}: {call: 'approval:1.0.0@default', with: {question: '${name}?'${more}}}}`;
    const agentId = await agentOf(
      server,
      `do:
  - first: {set: {n: 1}}
  - all:
      fork:
        branches:
          - pause: {wait: {hours: 2}}
          - ${approval("ask")}
          - ${approval("hurry", ", timeout: {hours: 1}")}
          - child: {run: {workflow: {namespace: test, name: sleeper, version: '1.0.0'}}}
          - left: {run: {workflow: {namespace: test, name: sleeper, version: '1.0.0'}, await: false}}
          - again:
              try: [{broken: {raise: {error: {type: 'https://example.org/errors/x', status: 500}}}}]
              catch: {retry: {delay: {minutes: 30}, limit: {attempt: {count: 2}}}}
          - repeat:
              try: [{fetch: {call: http, with: {method: get, endpoint: 'http://127.0.0.1:1/'}}}]
              catch: {retry: {delay: {minutes: 20}, limit: {attempt: {count: 2}}}}
          - caught:
              try: [{broken: {raise: {error: {type: 'https://example.org/errors/x', status: 500}}}}]
              catch: {do: [{mend: {wait: {minutes: 5}}}]}
          - many: {for: {in: '\${ [range(3)] }'}, do: [{nap: {wait: {minutes: 10}}}]}`,
    );
    const id = await start(server, agentId);
    const WAITS = "waitingFor { stepNumber until event approval { id stepNumber question expiresAt run { id } } }";
    const STEPS = "steps { number name status startedAt child { id } approval { id question status } }";
    const run = await eventually(async () => {
      const found = (await server.data(`{ run(id: "${id}") { status createdAt stepCount ${WAITS} ${STEPS} } }`)).run;
      // All branches have come to rest when it is paused; the steps may have been read a moment before.
      const numbers = new Set(found.steps.map(({ number }: Data) => number));
      const isKnown = found.waitingFor.every(({ stepNumber }: Data) => numbers.has(stepNumber));
      return found.status === "paused" && found.waitingFor.length === 8 && isKnown ? found : undefined;
    });
    const named = Object.fromEntries(run.steps.map((step: Data) => [step.number, step]));
    const minutes = (wait: Data): number | null =>
      wait.until && Math.round((Date.parse(wait.until) - Date.parse(run.createdAt)) / 60_000);
    expect(
      Object.fromEntries(
        run.waitingFor.map((wait: Data) => [
          named[wait.stepNumber].name,
          [minutes(wait), wait.approval?.question ?? null, wait.event],
        ]),
      ),
    ).toEqual({
      pause: [120, null, null],
      ask: [null, "ask?", null],
      hurry: [60, "hurry?", null],
      child: [null, null, null],
      again: [30, null, null],
      repeat: [20, null, null],
      mend: [5, null, null],
      nap: [10, null, null],
    });
    const numbers = run.waitingFor.map(({ stepNumber }: Data) => stepNumber);
    expect(numbers).toEqual(numbers.toSorted((a: number, b: number) => a - b));
    for (const { approval: asked, stepNumber, until: expires } of run.waitingFor) {
      if (!asked) continue;
      expect(asked).toMatchObject({ stepNumber, expiresAt: expires, run: { id } });
      expect(named[stepNumber].approval).toEqual({ id: asked.id, question: asked.question, status: "open" });
    }
    const withApproval = run.steps.filter((step: Data) => step.approval !== null);
    expect(withApproval.map(({ name }: Data) => name).toSorted()).toEqual(["ask", "hurry"]);
    const { run: two } = await server.data(`{ run(id: "${id}") { waitingFor(first: 2) { stepNumber } } }`);
    expect(two.waitingFor).toEqual(run.waitingFor.slice(0, 2).map(({ stepNumber }: Data) => ({ stepNumber })));
    for (const first of [0, 101]) {
      const { errors } = await server.graphql(`{ run(id: "${id}") { waitingFor(first: ${first}) { stepNumber } } }`);
      expect(errors![0]!.extensions).toMatchObject({ code: "BAD_USER_INPUT", fields: [{ path: "first" }] });
    }
    // In a list, and as events of a subscription.
    const listed = await server.data(`{ runs(filter: {agentId: "${agentId}"}) { nodes { stepCount ${WAITS} } } }`);
    expect(listed.runs.nodes).toEqual([{ stepCount: run.stepCount, waitingFor: run.waitingFor }]);
    const updates = server.watch(`subscription { runUpdated(runId: "${id}") { status stepCount ${WAITS} } }`);
    const { value } = await updates.next();
    expect(value.data.runUpdated).toMatchObject({ stepCount: run.stepCount, waitingFor: run.waitingFor });
    const ask = run.waitingFor.find((wait: Data) => wait.approval?.question === "ask?").approval.id;
    await server.data("mutation($input: DecideApprovalInput!) { decideApproval(input: $input) { id } }", {
      input: { approvalId: ask, decision: "approve" },
    });
    for await (const { data } of updates) if (data.runUpdated.waitingFor.length === 7) break;
    const asked = "steps { name approval { id status } }";
    const { run: decided } = await server.data(`{ run(id: "${id}") { ${asked} } }`);
    expect(decided.steps.find(({ name }: Data) => name === "ask").approval).toEqual({ id: ask, status: "approved" });
    await server.data(`mutation { cancelRun(runId: "${id}") { id } }`);
    const { run: ended } = await server.data(`{ run(id: "${id}") { stepCount waitingFor { stepNumber } ${asked} } }`);
    expect(ended).toMatchObject({ stepCount: run.stepCount, waitingFor: [] });
    expect(ended.steps.find(({ name }: Data) => name === "hurry").approval.status).toBe("withdrawn");
  });

  test("what a run waits for needs runs:read, also in the answer of a start", async () => {
    const token = await server.key(["runs:start"]);
    const agentId = await publish(server, "patient");
    const start = (fields: string) =>
      server.graphql(`mutation { runAgent(input: {agentId: "${agentId}", wait: 1}) { ${fields} } }`, {}, token);
    const fine = await start("id stepCount steps { id parentNumber item visit childCounts { count } }");
    expect(fine.errors).toBeUndefined();
    for (const fields of ["waitingFor { until }", "steps { approval { id } }"]) {
      expect((await start(fields)).errors![0]!.extensions.code, fields).toBe("FORBIDDEN");
    }
  });
});
