/** Runs as tasks of `/mcp`, and approvals that its clients are asked for. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { publish, start } from "./agents.ts";
import { ask as askPeople } from "./approvals.ts";
import { eventually, type Data } from "./client.ts";
import { ask, askWithTasks, narrowedKey, TASKS, waited, type Sent } from "./mcp-client.ts";
import { agentOf, readRun, until } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

let server: MovedServer;
let token: string;
const ids = {} as Record<"patient" | "approve", string>;
beforeAll(async () => {
  server = await movedServer();
  token = server.world.apiKey;
  for (const name of ["patient", "approve"] as const) ids[name] = await publish(server, name);
});
afterAll(() => server[Symbol.asyncDispose]());

const call = (name: string, given: object = {}): Promise<Sent> =>
  ask(server, token, "tools/call", { name, arguments: given });

describe("a client that declares tasks", () => {
  const task = (method: string, params: Record<string, unknown>, key = token) =>
    askWithTasks(server, key, method, params);

  test("gets a task for a run that goes on, looks at it and cancels it", async () => {
    const { body } = await waited(server, task("tools/call", { name: "test_patient", arguments: {} }));
    const { taskId } = body.result;
    expect(body.result).toMatchObject({
      resultType: "task",
      status: "working",
      ttlMs: null,
      pollIntervalMs: LIMITS.mcpPollMs,
    });
    expect((await task("tasks/get", { taskId })).body.result).toMatchObject({
      resultType: "complete",
      taskId,
      status: "working",
    });
    expect((await task("tasks/cancel", { taskId })).body.result).toMatchObject({ resultType: "complete" });
    expect((await task("tasks/get", { taskId })).body.result).toMatchObject({ status: "cancelled" });
    expect(await readRun(server, taskId)).toMatchObject({ status: "cancelled" });
    expect((await task("tasks/cancel", { taskId })).body.result).toMatchObject({ resultType: "complete" });
  });

  test("is asked within the task, answers with tasks/update, and reads the result", async () => {
    const { body } = await task("tools/call", { name: "test_approve", arguments: {} });
    const { taskId } = body.result;
    expect(body.result).toMatchObject({ resultType: "task", status: "input_required" });
    const { inputRequests } = (await task("tasks/get", { taskId })).body.result;
    const [[question, request]] = Object.entries(inputRequests) as [[string, Data]];
    expect(question).toMatch(/^approval_/);
    expect(request).toMatchObject({ method: "elicitation/create", params: { mode: "form" } });
    const wrong = { [question]: { action: "accept", content: { costCentre: "yacht" } } };
    expect((await task("tasks/update", { taskId, inputResponses: wrong })).body.error).toMatchObject({
      code: -32_602,
      data: { code: "BAD_USER_INPUT", reason: "invalid_input" },
    });
    const answers = {
      [question]: { action: "accept", content: { costCentre: "office" } },
      unknown: { action: "accept" },
    };
    expect((await task("tasks/update", { taskId, inputResponses: answers })).body.result).toMatchObject({
      resultType: "complete",
    });
    await until(server, taskId, "completed");
    expect((await task("tasks/get", { taskId })).body.result).toMatchObject({
      status: "completed",
      result: { structuredContent: { runId: taskId, status: "completed", output: { said: null } } },
    });
    // Over: nothing is cancelled, and what was answered before is ignored.
    expect((await task("tasks/cancel", { taskId })).body.result).toMatchObject({ resultType: "complete" });
    expect((await task("tasks/update", { taskId, inputResponses: answers })).body).not.toHaveProperty("error");
  });

  test("is asked while other branches of the run go on", async () => {
    const ask = "{ask: {call: 'approval:1.0.0@default', with: {question: Now?}}}";
    const agentId = await agentOf(server, `do: [{both: {fork: {branches: [${ask}, {rest: {wait: {hours: 1}}}]}}}]`);
    const taskId = await start(server, agentId);
    const requests = await eventually(async () => (await task("tasks/get", { taskId })).body.result.inputRequests);
    expect(Object.values(requests)).toMatchObject([{ params: { message: "Now?" } }]);
    await task("tasks/cancel", { taskId });
  });

  test("rejects by declining; the failed run is a result", async () => {
    const { taskId } = (await task("tools/call", { name: "test_approve", arguments: {} })).body.result;
    const { inputRequests } = (await task("tasks/get", { taskId })).body.result;
    const inputResponses = { [Object.keys(inputRequests)[0]!]: { action: "decline" } };
    await task("tasks/update", { taskId, inputResponses });
    await until(server, taskId, "failed");
    expect((await task("tasks/get", { taskId })).body.result).toMatchObject({
      status: "completed",
      result: { isError: true, structuredContent: { status: "failed", output: null } },
    });
  });

  test("asks for twenty approvals at a time", async () => {
    const branches = Array.from(
      { length: LIMITS.mcpQuestions + 1 },
      (_, n) => `{b${n}: {call: 'approval:1.0.0@default', with: {question: "q${n}"}}}`,
    );
    const agentId = await agentOf(server, `do: [{all: {fork: {branches: [${branches.join(", ")}]}}}]`);
    const runId = await start(server, agentId);
    await until(server, runId, "paused");
    const { inputRequests } = (await task("tasks/get", { taskId: runId })).body.result;
    expect(Object.keys(inputRequests)).toHaveLength(LIMITS.mcpQuestions);
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((id) => [id, { action: "accept" }]));
    await task("tasks/update", { taskId: runId, inputResponses });
    // The run goes on for a moment, until it has seen the decisions.
    const rest = await eventually(async () => (await task("tasks/get", { taskId: runId })).body.result.inputRequests);
    expect(Object.keys(rest)).toHaveLength(1);
  });

  test("is asked about large contexts by their beginnings", async () => {
    const text = "x".repeat(400_000);
    const branch = (n: number): string =>
      `{b${n}: {call: 'approval:1.0.0@default', with: {question: "q${n}", context: '\${ $workflow.input }'}}}`;
    const branches = Array.from({ length: 10 }, (_, n) => branch(n));
    const agentId = await agentOf(server, `do: [{all: {fork: {branches: [${branches.join(", ")}]}}}]`);
    const taskId = await start(server, agentId, { text });
    const requests = await eventually(async (): Promise<Data[] | undefined> => {
      const found: Data[] = Object.values((await task("tasks/get", { taskId })).body.result.inputRequests ?? {});
      return found.length === 10 ? found : undefined;
    });
    for (const { params } of requests) expect(params.message).toMatch(/^q\d\n\n\{"text": ?"x{1900,2000}…$/);
  });

  test("hears of its run also when the questions are too large to be asked", async () => {
    const choices = Array.from({ length: 1_000 }, (_, n) => `${n}-${"x".repeat(150)}`);
    const form = { type: "object", properties: { one: { type: "string", enum: choices } } };
    const ask = `{ask: {call: 'approval:1.0.0@default', with: {question: Which?, form: ${JSON.stringify(form)}}}}`;
    const each = `{call: 'each:1.0.0@default', with: {in: '\${ [range(20)] }', concurrency: 20, do: [${ask}]}}`;
    await agentOf(server, `do: [{all: ${each}}]`, "large-questions");
    const params = { name: "test_large-questions", arguments: {} };
    const { body } = await task("tools/call", params);
    const { runId } = body.result.structuredContent;
    expect(body.result).toMatchObject({
      isError: true,
      content: [{}, { text: expect.stringContaining("get_run") }],
      _meta: { "autograph/error": { code: "QUERY_TOO_COMPLEX" } },
    });
    expect((await task("tasks/get", { taskId: runId })).body.error).toMatchObject({ code: -32_602 });
    await until(server, runId, "paused");
    await task("tasks/cancel", { taskId: runId });
  });

  test("that may not decide only waits", async () => {
    const reader = await narrowedKey(server, [ids.approve], ["agents:read", "runs:read", "runs:start"]);
    const { taskId, status } = (await task("tools/call", { name: "test_approve", arguments: {} }, reader)).body.result;
    expect(status).toBe("working");
    const refused = await task("tasks/update", { taskId, inputResponses: {} }, reader);
    expect(refused).toMatchObject({ status: 403, body: { error: { data: { scope: "approvals:decide" } } } });
    expect(refused.headers.get("www-authenticate")).toContain('error="insufficient_scope", scope="approvals:decide"');
    expect(await task("tasks/cancel", { taskId }, reader)).toMatchObject({
      status: 403,
      body: { error: { data: { scope: "runs:cancel" } } },
    });
    const blind = await narrowedKey(server, [ids.approve], ["runs:start", "runs:cancel", "approvals:decide"]);
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"])
      expect(await task(method, { taskId, inputResponses: {} }, blind)).toMatchObject({
        status: 403,
        body: { error: { data: { scope: "runs:read" } } },
      });
    expect(await readRun(server, taskId)).toMatchObject({ status: "paused" });
  });

  test("finds another organization's task as little as one that there is not", async () => {
    const other = await server.organization("other");
    const { taskId } = (await task("tools/call", { name: "test_approve", arguments: {} })).body.result;
    const none = "run_00000000000000000000000000";
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      const [foreign, unknown, malformed] = await Promise.all(
        [taskId, none, "x"].map((id) => task(method, { taskId: id, inputResponses: {} }, other.apiKey)),
      );
      expect(foreign!.body.error).toEqual({ code: -32_602, message: "Task not found", data: { code: "NOT_FOUND" } });
      expect(unknown!.body).toEqual(foreign!.body);
      expect(malformed!.body).toEqual(foreign!.body);
    }
    expect(await readRun(server, taskId)).toMatchObject({ status: "paused" });
  });

  test("no client without the capability has tasks", async () => {
    const refused = await ask(server, token, "tasks/get", { taskId: "run_00000000000000000000000000" });
    expect(refused).toMatchObject({
      status: 400,
      body: { error: { code: -32_021, data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } } },
    });
  });
});

describe("approvals", () => {
  test("are listed and decided by tools, once", async () => {
    const runId = await start(server, ids.approve);
    await until(server, runId, "paused");
    const { approvals, hasMore } = (await call("list_approvals", { runId })).body.result.structuredContent;
    expect({ approvals, hasMore }).toMatchObject({
      approvals: [{ runId, question: "May it go on?", context: { why: "because" }, canDecide: true }],
      hasMore: false,
    });
    const [{ approvalId }] = approvals;
    const given = { approvalId, decision: "approve", comment: "go", answer: { costCentre: "office" } };
    expect((await call("decide_approval", given)).body.result.structuredContent).toEqual({
      approvalId,
      runId,
      status: "approved",
    });
    expect((await call("decide_approval", given)).body.result).not.toHaveProperty("isError");
    expect((await call("decide_approval", { approvalId, decision: "reject" })).body.result).toMatchObject({
      isError: true,
      _meta: { "autograph/error": { code: "CONFLICT", reason: "already_decided" } },
    });
    expect(await until(server, runId, "completed")).toMatchObject({ output: { said: "go" } });
    expect((await call("list_approvals", { runId })).body.result.structuredContent.approvals).toEqual([]);
  });

  test("for anyone are passed on by a tool; for people they are neither decided nor passed on", async () => {
    const { id: approvalId, run: runId } = await askPeople(server, {});
    const given = { approvalId, assignees: ["role:owner"] };
    expect((await call("reassign_approval", given)).body.result.structuredContent).toEqual({
      approvalId,
      runId,
      assignees: ["role:owner"],
    });
    const { approvals } = (await call("list_approvals", { runId })).body.result.structuredContent;
    expect(approvals).toMatchObject([{ approvalId, assignees: ["role:owner"], canDecide: false }]);
    const notAssigned = { data: { code: "FORBIDDEN", reason: "not_assigned" } };
    for (const [tool, rest] of [
      ["decide_approval", { approvalId, decision: "approve" }],
      ["reassign_approval", { approvalId, assignees: ["role:editor"] }],
    ] as const)
      expect((await call(tool, rest)).body.error, tool).toMatchObject(notAssigned);
    expect(await readRun(server, runId)).toMatchObject({ status: "paused" });
  });

  test("lists fifty approvals", async () => {
    const branches = Array.from(
      { length: LIMITS.mcpApprovalsListed + 1 },
      (_, n) => `{b${n}: {call: 'approval:1.0.0@default', with: {question: "q${n}"}}}`,
    );
    const runId = await start(
      server,
      await agentOf(server, `do: [{all: {fork: {branches: [${branches.join(", ")}]}}}]`),
    );
    await until(server, runId, "paused");
    const { approvals, hasMore } = (await call("list_approvals", { runId })).body.result.structuredContent;
    expect(approvals).toHaveLength(LIMITS.mcpApprovalsListed);
    expect(hasMore).toBe(true);
  });

  test("a state that was not asked of this tool is refused", async () => {
    const runId = await start(server, ids.patient);
    const refused = { code: -32_602, message: "requestState names no run of this tool" };
    const goOn = async (requestState: unknown, key = token): Promise<Data> =>
      (await ask(server, key, "tools/call", { name: "test_approve", requestState, inputResponses: {} })).body.error;
    for (const requestState of [runId, "x", 7]) expect(await goOn(requestState)).toMatchObject(refused);
    const other = await server.organization("stranger");
    await publish(server, "approve", other);
    const asked = await start(server, ids.approve);
    expect(await goOn(asked, other.apiKey)).toMatchObject(refused);
    const reader = await narrowedKey(server, [ids.approve], ["agents:read", "runs:read", "runs:start"]);
    expect(await goOn(asked, reader)).toMatchObject({ code: 403, data: { scope: "approvals:decide" } });
  });

  test("of which one is answered are asked for again, and the first decision counts", async () => {
    const branch = (n: number): string => `{b${n}: {call: 'approval:1.0.0@default', with: {question: "q${n}"}}}`;
    await agentOf(server, `do: [{both: {fork: {branches: [${branch(0)}, ${branch(1)}]}}}]`, "two-questions");
    const params = { name: "test_two-questions", arguments: {} };
    const elicitation = { capabilities: { elicitation: {} } };
    const next = async (more: object): Promise<Data> =>
      (await ask(server, token, "tools/call", { ...params, ...more }, elicitation)).body.result;
    const { inputRequests, requestState } = await next({});
    const [first, second] = Object.keys(inputRequests);
    const accepted = { [first!]: { action: "accept" } };
    for (const inputResponses of [accepted, accepted, { [first!]: { action: "decline" } }]) {
      const again = await next({ requestState, inputResponses });
      expect([again.resultType, Object.keys(again.inputRequests)]).toEqual(["input_required", [second]]);
    }
    const inputResponses = { [first!]: { action: "decline" }, [second!]: { action: "accept" } };
    expect(await next({ requestState, inputResponses })).toMatchObject({
      structuredContent: { runId: requestState, status: "completed" },
    });
    const { approvals } = await readRun(server, requestState);
    expect(approvals.nodes.map(({ status }: Data) => status)).toEqual(["approved", "approved"]);
  });

  test("what is decided after the run was cancelled changes nothing", async () => {
    const elicitation = { capabilities: { elicitation: {} } };
    const params = { name: "test_approve", arguments: {} };
    const { inputRequests, requestState } = (await ask(server, token, "tools/call", params, elicitation)).body.result;
    await call("cancel_run", { runId: requestState });
    const content = { costCentre: "office" };
    const inputResponses = { [Object.keys(inputRequests)[0]!]: { action: "accept", content } };
    const late = await ask(server, token, "tools/call", { ...params, requestState, inputResponses }, elicitation);
    expect(late.body.result).toMatchObject({ isError: true, structuredContent: { status: "cancelled" } });
    expect((await readRun(server, requestState)).approvals.nodes).toMatchObject([{ status: "withdrawn" }]);
  });
});
