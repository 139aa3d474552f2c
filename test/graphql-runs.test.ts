/** Runs and approvals over the wire, the specification's operations with variables and with literals. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { publish, start, type AgentName } from "./agents.ts";
import { eventually, post, type Answer } from "./client.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

const SUMMED_UP = `
document: {dsl: '1.0.3', namespace: test, name: summed-up, version: '1.0.0'}
input: {schema: {format: json, document: {type: object, properties: {
  who: {type: string, title: Who it is for}, note: {type: string}, amount: {type: number},
  speed: {type: string, title: Speed, oneOf: [{const: fast, title: By tomorrow}]}}}}}
do:
  - check: {if: '\${ .amount < 0 }', raise: {error: {type: https://example.com/little, status: 422, title: Too little, detail: '\${ .who }'}}}
  - ask: {call: 'approval:1.0.0@default', with: {question: Go on?}}
`;

let server: SharedServer;
let agents: Record<AgentName, string>;
beforeAll(async () => {
  server = await sharedServer();
  const names: AgentName[] = ["three", "echo", "slow", "patient", "approve", "failing"];
  const ids = await Promise.all(names.map(async (name) => [name, await publish(server, name)]));
  agents = Object.fromEntries(ids);
});
afterAll(() => server[Symbol.asyncDispose]());

const statusOf = async (id: string): Promise<string> =>
  (await server.data(`{ run(id: "${id}") { status } }`)).run.status;
const until = (id: string, status: string): Promise<unknown> => eventually(async () => (await statusOf(id)) === status);

describe("runs", () => {
  test("a literal and the variable within it have no more than 64 levels together", async () => {
    const lists = (count: number, inner = ""): string => "[".repeat(count) + inner + "]".repeat(count);
    const send = (count: number): Promise<Answer> =>
      server.graphql(
        `mutation($v: JSON) { runAgent(input: {agentId: "${agents.echo}", input: {a: ${lists(32, "$v")}}}) { id } }`,
        { v: JSON.parse(lists(count)) },
      );
    expect((await send(31)).errors).toBeUndefined();
    for (const count of [32, 60])
      expect((await send(count)).errors).toMatchObject([
        { message: expect.stringMatching(/nested deeper than 64 levels|has invalid value/) },
      ]);
  });

  const RUN = "query($id: ID!) { run(id: $id) { id status steps { number status duration } } }";

  test("runAgent with variables and with literals answers at once; run shows its steps", async () => {
    const byVariable = await server.data(
      "mutation($input: RunAgentInput!) { runAgent(input: $input) { id status createdAt } }",
      { input: { agentId: agents.three, input: { n: 1 } } },
    );
    const byLiteral = await server.data(
      `mutation { runAgent(input: {agentId: "${agents.three}", input: {n: 1}}) { id status createdAt } }`,
    );
    for (const { runAgent } of [byVariable, byLiteral]) {
      expect(runAgent).toEqual({
        id: expect.stringMatching(/^run_/),
        status: expect.stringMatching(/^(pending|running|completed)$/),
        createdAt: expect.stringMatching(TIME),
      });
      await until(runAgent.id, "completed");
      const { run } = await server.data(RUN, { id: runAgent.id });
      expect(run.steps).toEqual(
        [1, 2, 3].map((number) => ({ number, status: "completed", duration: expect.any(Number) })),
      );
      expect(
        (await server.data(`{ run(id: "${runAgent.id}") { id status steps { number status duration } } }`)).run,
      ).toEqual(run);
    }
  });

  test("a variable may stand within a literal input", async () => {
    const { runAgent } = await server.data(
      "mutation($a: ID!, $n: JSON) { runAgent(input: {agentId: $a, input: {n: $n}, wait: 10}) { output } }",
      { a: agents.three, n: 5 },
    );
    expect(runAgent.output).toEqual({ n: 8 });
  });

  test("with `wait` the answer has output and steps", async () => {
    const { runAgent: run } = await server.data(
      "mutation($input: RunAgentInput!) { runAgent(input: $input) { status output error { type } version agent { name } project { handle } startedBy { kind id } input createdAt startedAt finishedAt cancelledAt currentStep progress revision steps { number name kind status duration startedAt finishedAt input output attempts { number status error { type } startedAt finishedAt } error { type } } } }",
      { input: { agentId: agents.three, input: { n: 1 }, wait: 10 } },
    );
    expect(run).toMatchObject({
      status: "completed",
      output: { n: 4 },
      error: null,
      version: "1.0.0",
      agent: { name: "three" },
      project: { handle: "test" },
      startedBy: { kind: "key", id: expect.stringMatching(/^key_/) },
      input: { n: 1 },
      finishedAt: expect.stringMatching(TIME),
      cancelledAt: null,
      currentStep: 3,
      progress: 100,
    });
    expect(run.steps[0]).toMatchObject({
      number: 1,
      name: "one",
      kind: "set",
      status: "completed",
      output: { n: 2 },
      error: null,
      attempts: [{ number: 1, status: "completed", error: null }],
    });
  });

  test("steps by pages", async () => {
    const id = await start(server, agents.three, { n: 1 });
    await until(id, "completed");
    const { run } = await server.data(
      `{ run(id: "${id}") { two: steps(first: 2) { number } rest: steps(after: 2) { number } all: stepsConnection(first: 2) { nodes { number } pageInfo { endCursor hasNextPage } } } }`,
    );
    const { endCursor } = run.all.pageInfo;
    const { run: next } = await server.data(
      `{ run(id: "${id}") { last: stepsConnection(after: "${endCursor}") { nodes { number } pageInfo { hasNextPage } } } }`,
    );
    expect(run.two.map(({ number }: { number: number }) => number)).toEqual([1, 2]);
    expect(run.rest).toEqual([{ number: 3 }]);
    expect(run.all).toEqual({ nodes: [{ number: 1 }, { number: 2 }], pageInfo: { endCursor, hasNextPage: true } });
    expect(next.last).toEqual({ nodes: [{ number: 3 }], pageInfo: { hasNextPage: false } });
  });

  test("a page of steps has 1 to 1,000, one of their connection 1 to 200, one of attempts 1 to 1,000", async () => {
    const id = await start(server, agents.three, { n: 1 });
    await until(id, "completed");
    const answered = async (list: string, first: number): Promise<string> => {
      const query = `{ run(id: "${id}") { ${list.replace("?", `(first: ${first})`)} } }`;
      const { errors } = await server.graphql(query);
      return errors?.[0]!.extensions.code ?? "answered";
    };
    for (const [list, most] of [
      ["steps? { number }", 1_000],
      ["stepsConnection? { nodes { number } }", 200],
      ["steps(first: 1) { attempts? { number } }", 1_000],
    ] as const) {
      const answers = await Promise.all([0, 1, most, most + 1].map((first) => answered(list, first)));
      expect(answers, list).toEqual(["BAD_USER_INPUT", "answered", "answered", "BAD_USER_INPUT"]);
    }
  });

  test("a failed run says why, and where", async () => {
    const { runAgent: run } = await server.data(
      `mutation { runAgent(input: {agentId: "${agents.failing}", wait: 10}) { status output error { type status title detail instance stepNumber } steps { number status error { type stepNumber } } } }`,
    );
    expect(run).toMatchObject({
      status: "failed",
      output: null,
      error: {
        type: "https://example.org/errors/broken",
        status: 422,
        title: "Broken",
        detail: "as it should",
        instance: expect.stringContaining("broken"),
        stepNumber: 2,
      },
    });
    expect(run.steps[1]).toEqual({
      number: 2,
      status: "failed",
      error: { type: "https://example.org/errors/broken", stepNumber: 2 },
    });
  });

  test("cancelRun with a variable and with a literal; again is the same answer; a finished run is CONFLICT", async () => {
    const CANCEL = "mutation($id: ID!) { cancelRun(runId: $id) { id status cancelledAt } }";
    const first = await start(server, agents.patient);
    const second = await start(server, agents.patient);
    const { cancelRun } = await server.data(CANCEL, { id: first });
    expect(cancelRun).toEqual({ id: first, status: "cancelled", cancelledAt: expect.stringMatching(TIME) });
    expect((await server.data(CANCEL, { id: first })).cancelRun).toEqual(cancelRun);
    expect((await server.data(`mutation { cancelRun(runId: "${second}") { status } }`)).cancelRun.status).toBe(
      "cancelled",
    );
    const done = await start(server, agents.three, { n: 1 });
    await until(done, "completed");
    expect((await server.graphql(CANCEL, { id: done })).errors![0]!.extensions.code).toBe("CONFLICT");
  });

  test("runs are filtered by project, agent, state, starter and time, and pages join without gaps", async () => {
    const { email, password } = server.world;
    const { login } = await server.data(
      "mutation($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }",
      { email, password },
      null,
    );
    const mine = [];
    for (let count = 0; count < 5; count++)
      mine.unshift(await start(server, agents.echo, { count }, login.accessToken));
    for (const id of mine) await until(id, "completed");
    const { me } = await server.data("{ me { id } }");
    const list = async (filter: object, page: object = {}) =>
      (
        await server.data(
          "query($filter: RunFilter, $first: Int, $after: String) { runs(filter: $filter, first: $first, after: $after) { edges { cursor node { id } } nodes { id status createdAt } pageInfo { endCursor hasNextPage } } }",
          { filter, ...page },
        )
      ).runs;
    const idsOf = ({ nodes }: { nodes: { id: string }[] }) => nodes.map(({ id }) => id);
    expect(idsOf(await list({ agentId: agents.echo, startedBy: { id: me.id } }))).toEqual(mine);
    expect(idsOf(await list({ startedBy: { kind: "user" } }))).toEqual(mine);
    expect(idsOf(await list({ agentId: agents.echo, status: ["failed", "paused"] }))).toEqual([]);
    expect(idsOf(await list({ agentId: agents.echo, startedBy: { id: agents.echo } }))).toEqual([]);
    expect(
      idsOf(await list({ projectId: server.world.projectId, startedBy: { kind: "user" }, status: ["completed"] })),
    ).toEqual(mine);
    const all = await list({ agentId: agents.echo });
    const times = all.nodes.map(({ createdAt }: { createdAt: string }) => createdAt);
    const since = await list({ agentId: agents.echo, createdFrom: times[2] });
    expect(since.nodes.length).toBeGreaterThanOrEqual(3);
    expect(idsOf(await list({ agentId: agents.echo, createdBefore: times.at(-1) }))).toEqual([]);
    const first = await list({ agentId: agents.echo }, { first: 3 });
    const rest = await list({ agentId: agents.echo }, { first: 3, after: first.pageInfo.endCursor });
    expect([...idsOf(first), ...idsOf(rest)]).toEqual(idsOf(all).slice(0, 6));
    const { agent } = await server.data(
      `{ agent(id: "${agents.echo}") { runs(first: 2) { nodes { id agent { id } } } } }`,
    );
    expect(agent.runs.nodes.map(({ id }: { id: string }) => id)).toEqual(mine.slice(0, 2));
  });

  test("runs are found by the beginning of their id, of the caller's organization alone", async () => {
    const ids = [];
    for (let count = 0; count < 3; count++) ids.unshift(await start(server, agents.echo, { count }));
    const LIST =
      "query($filter: RunFilter) { runs(filter: $filter) { nodes { id } } runCount(filter: $filter) { value } }";
    const found = async (idPrefix: string, more: object = {}, key?: string): Promise<string[]> => {
      const { runs, runCount } = await server.data(LIST, { filter: { idPrefix, ...more } }, key);
      expect(runCount.value).toBe(runs.nodes.length);
      return runs.nodes.map(({ id }: { id: string }) => id);
    };
    expect(await found("run_")).toEqual(expect.arrayContaining(ids));
    for (const id of ids)
      for (const length of [id.length, id.length - 1, 20]) {
        const some = await found(id.slice(0, length));
        expect(some.every((one) => one.startsWith(id.slice(0, length)))).toBe(true);
        expect(some).toContain(id);
      }
    const [id] = ids;
    expect(await found(id!)).toEqual([id]);
    expect(await found(id!, { agentId: agents.three })).toEqual([]);
    expect(await found(id!, { agentId: agents.echo, createdBefore: "2020-01-01T00:00:00Z" })).toEqual([]);
    expect(await found(`${id!.slice(0, -1)}${id!.endsWith("0") ? "1" : "0"}`)).toEqual([]);
    const { apiKey } = await server.organization("finds-nothing");
    expect(await found(id!, {}, apiKey)).toEqual([]);
    for (const idPrefix of ["", "run", "01m7", "run_8", id!.toUpperCase(), `${id}0`]) {
      const { errors } = await server.graphql(LIST, { filter: { idPrefix } });
      expect(errors![0], idPrefix).toMatchObject({
        message: expect.stringMatching(/^filter\.idPrefix must be the beginning of a run's id/),
        extensions: { code: "BAD_USER_INPUT", fields: [{ path: "filter.idPrefix", code: "invalid" }] },
      });
    }
  });

  test("a summary is short however large the run is: titles of the form, the step under way, the error", async () => {
    const SUMMARY = "summary { input { title text } step error }";
    const summaryOf = async (id: string) => (await server.data(`{ run(id: "${id}") { ${SUMMARY} } }`)).run.summary;
    const { publishAgent } = await server.data(
      "mutation ($definition: String!) { publishAgent(input: {definition: $definition}) { id } }",
      { definition: SUMMED_UP },
    );
    const input = { speed: "fast", amount: 180, who: " Ada\n Lovelace " };
    const waiting = await start(server, publishAgent.id, input);
    await until(waiting, "paused");
    expect(await summaryOf(waiting)).toEqual({
      input: [
        { title: "Who it is for", text: "Ada Lovelace" },
        { title: "amount", text: "180" },
        { title: "Speed", text: "By tomorrow" },
      ],
      step: "ask",
      error: null,
    });
    await server.data(`mutation { cancelRun(runId: "${waiting}") { id } }`);
    expect(await summaryOf(waiting)).toMatchObject({ step: null, error: null });

    // All of them whole would be refused.
    const large = { who: "é".repeat(300_000), amount: -1 };
    const started = [];
    for (let count = 0; count < 20; count++) started.push(await start(server, publishAgent.id, large));
    for (const id of started) await until(id, "failed");
    const { runs } = await server.data(
      `query ($id: ID!) { runs(first: 50, filter: {agentId: [$id], status: [failed]}) { nodes { ${SUMMARY} } } }`,
      { id: publishAgent.id },
    );
    expect(runs.nodes).toHaveLength(20);
    for (const { summary } of runs.nodes) {
      expect(summary.input).toEqual([{ title: "Who it is for", text: `${"é".repeat(59)}…` }]);
      expect(summary.error).toMatch(/^Too little: é{50,}…$/);
      expect(summary.error).toHaveLength(200);
      expect(summary.step).toBeNull();
    }
  });

  test("an idempotency key answers the same run, as a field, as a header, and with another body CONFLICT", async () => {
    const input = { agentId: agents.echo, input: { a: 1 }, idempotencyKey: "one" };
    const RUN_AGENT = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }";
    const { runAgent: first } = await server.data(RUN_AGENT, { input });
    expect((await server.data(RUN_AGENT, { input })).runAgent).toEqual(first);
    const byHeader = (header: string, body: object) =>
      post(`${server.url}/graphql`, RUN_AGENT, { input: body }, server.world.apiKey, { "idempotency-key": header });
    expect((await byHeader("one", { agentId: agents.echo, input: { a: 1 } })).data.runAgent).toEqual(first);
    expect((await byHeader("one", input)).data.runAgent).toEqual(first);
    expect((await byHeader("two", input)).errors![0]!.extensions).toMatchObject({
      code: "BAD_USER_INPUT",
      fields: [{ path: "input.idempotencyKey" }],
    });
    expect((await byHeader("one", { agentId: agents.echo, input: { a: 2 } })).errors![0]!.extensions.code).toBe(
      "CONFLICT",
    );
    expect(
      (await server.graphql(RUN_AGENT, { input: { ...input, idempotencyKey: "x".repeat(256) } })).errors![0]!.extensions
        .code,
    ).toBe("BAD_USER_INPUT");
    expect(
      (await server.graphql(RUN_AGENT, { input: { ...input, idempotencyKey: "a\0b" } })).errors![0]!.extensions.code,
    ).toBe("BAD_USER_INPUT");
  });

  test("one field of an operation may wait, 1 to 30 s", async () => {
    const field = (name: string, wait: number): string =>
      `${name}: runAgent(input: {agentId: "${agents.echo}", wait: ${wait}}) { status }`;
    const { data, errors } = await server.graphql(`mutation { ${field("a", 30)} ${field("b", 30)} }`);
    expect(data).toEqual({ a: { status: "completed" }, b: null });
    expect(errors![0]).toMatchObject({ path: ["b"], extensions: { code: "BAD_USER_INPUT" } });
    for (const wait of [0, 31, -1]) {
      expect((await server.graphql(`mutation { ${field("a", wait)} }`)).errors![0]!.extensions).toMatchObject({
        fields: [{ path: "input.wait", code: "out_of_range" }],
      });
    }
  });

  test("payloads come back unchanged: NUL, lone surrogates, key order", async () => {
    const input = { z: "\0", a: "\ud800", "": 1.5e300, m: [null, false, { b: 1, a: 2 }] };
    const { runAgent } = await server.data(
      "mutation($input: RunAgentInput!) { runAgent(input: $input) { input output } }".replace(
        "{ input output }",
        "{ input output }",
      ),
      { input: { agentId: agents.echo, input, wait: 10 } },
    );
    expect(JSON.stringify(runAgent.output)).toBe(JSON.stringify(input));
    expect(JSON.stringify(runAgent.input)).toBe(JSON.stringify(input));
  });
});

describe("approvals", () => {
  const DECIDE =
    "mutation($input: DecideApprovalInput!) { decideApproval(input: $input) { id status comment answer decidedAt decidedBy { kind id } run { id } } }";
  const open = async (): Promise<{ runId: string; id: string }> => {
    const runId = await start(server, agents.approve);
    await until(runId, "paused");
    const { approvals } = await server.data(
      "query($filter: ApprovalFilter) { approvals(filter: $filter) { nodes { id } } }",
      { filter: { runId, status: "open" } },
    );
    return { runId, id: approvals.nodes[0].id };
  };

  test("the inbox shows the question; the first decision counts, with its answer", async () => {
    const { runId, id } = await open();
    const { approval, run } = await server.data(
      `{ approval(id: "${id}") { status question context assignee form answerFields { name type choices { value } } stepNumber agent { name } project { handle } createdAt expiresAt decidedAt }
         run(id: "${runId}") { currentStep progress approvals { nodes { id } } } }`,
    );
    expect(approval).toMatchObject({
      status: "open",
      question: "May it go on?",
      context: { why: "because" },
      assignee: null,
      answerFields: [{ name: "costCentre", type: "choice", choices: [{ value: "office" }, { value: "travel" }] }],
      agent: { name: "approve" },
      project: { handle: "test" },
      decidedAt: null,
    });
    expect(run).toMatchObject({ currentStep: approval.stepNumber, approvals: { nodes: [{ id }] } });

    const refused = await server.graphql(DECIDE, {
      input: { approvalId: id, decision: "approve", answer: { costCentre: "home" } },
    });
    expect(refused.errors![0]!.extensions).toMatchObject({
      code: "BAD_USER_INPUT",
      fields: [{ path: expect.stringContaining("costCentre") }],
    });
    const { decideApproval } = await server.data(DECIDE, {
      input: { approvalId: id, decision: "approve", comment: "go", answer: { costCentre: "office" } },
    });
    expect(decideApproval).toMatchObject({
      id,
      status: "approved",
      comment: "go",
      answer: { costCentre: "office" },
      decidedBy: { kind: "key", id: expect.stringMatching(/^key_/) },
      run: { id: runId },
    });
    expect(
      (await server.graphql(DECIDE, { input: { approvalId: id, decision: "reject" } })).errors![0]!.extensions.code,
    ).toBe("CONFLICT");
    await until(runId, "completed");
  });

  test("a rejection fails the run with approval-rejected; a cancelled run withdraws its question", async () => {
    const first = await open();
    await server.data(DECIDE, { input: { approvalId: first.id, decision: "reject", comment: "no" } });
    await until(first.runId, "failed");
    expect((await server.data(`{ run(id: "${first.runId}") { error { type } } }`)).run.error.type).toMatch(
      /\/approval-rejected$/,
    );
    const second = await open();
    await server.data(`mutation { cancelRun(runId: "${second.runId}") { status } }`);
    expect((await server.data(`{ approval(id: "${second.id}") { status } }`)).approval.status).toBe("withdrawn");
  });
});
