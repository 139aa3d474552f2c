/** Clients of `/mcp` that ask for what is not theirs, cancel at any time, or send what nobody would. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { publish, start } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { ask, askWithTasks, narrowedKey, send, STATELESS, waited, type Sent } from "./mcp-client.ts";
import { agentOf, readRun, until } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

let server: MovedServer;
let token: string;
const ids = {} as Record<"echo" | "patient" | "approve" | "failing", string>;
beforeAll(async () => {
  server = await movedServer();
  token = server.world.apiKey;
  for (const name of ["echo", "patient", "approve", "failing"] as const) ids[name] = await publish(server, name);
});
afterAll(() => server[Symbol.asyncDispose]());

const call = (name: string, given: unknown = {}, key = token): Promise<Sent> =>
  ask(server, key, "tools/call", { name, arguments: given });
const task = (method: string, params: Record<string, unknown>, key = token): Promise<Sent> =>
  askWithTasks(server, key, method, params);
const NONE = "run_00000000000000000000000000";

describe("what a caller does not reach", () => {
  /** The answers of each tool and task about a run and its approval. */
  async function saidOf(runId: string, approvalId: string, key: string): Promise<unknown[]> {
    const answers = [
      await call("get_run", { runId }, key),
      await call("cancel_run", { runId }, key),
      await call("list_approvals", { runId }, key),
      await call("decide_approval", { approvalId, decision: "reject" }, key),
      await task("tasks/get", { taskId: runId }, key),
      await task("tasks/update", { taskId: runId, inputResponses: { [approvalId]: { action: "decline" } } }, key),
      await task("tasks/cancel", { taskId: runId }, key),
    ];
    return answers.map(({ status, body: { result, error } }) => [status, result ?? error]);
  }

  test("is as what there is not, to another organization and to a narrowed key, and stays as it is", async () => {
    const runId = await start(server, ids.approve);
    await until(server, runId, "paused");
    const { approvals } = (await call("list_approvals", { runId })).body.result.structuredContent;
    const [{ approvalId }] = approvals;
    const other = await server.organization("other");
    for (const key of [other.apiKey, await narrowedKey(server, [ids.echo])])
      expect(await saidOf(runId, approvalId, key)).toEqual(await saidOf(NONE, NONE.replace("run", "approval"), key));
    expect(await readRun(server, runId)).toMatchObject({
      status: "paused",
      approvals: { nodes: [{ status: "open" }] },
    });
  });
});

describe("a task is cancelled", () => {
  const cancelled = async (taskId: string): Promise<Data> => {
    const { body } = await task("tasks/cancel", { taskId });
    expect(body.result).toMatchObject({ resultType: "complete" });
    return (await task("tasks/get", { taskId })).body.result;
  };

  test("while it waits for its turn, runs, or waits for a person", async () => {
    const limited = await agentOf(server, "do: [{a: {wait: {hours: 1}}}]", "one-at-a-time");
    await server.data(`mutation { setAgentLimit(input: {agentId: "${limited}", concurrency: 1}) { id } }`);
    const [running, pending] = [await start(server, limited), await start(server, limited)];
    await until(server, running, "running");
    await until(server, pending, "pending");
    const paused = await start(server, ids.approve);
    await until(server, paused, "paused");
    for (const taskId of [pending, running, paused]) {
      expect(await cancelled(taskId)).toMatchObject({ status: "cancelled" });
      expect(await readRun(server, taskId)).toMatchObject({ status: "cancelled" });
    }
  });

  test("when it is over: it stays as it ended, however often and by however many at once", async () => {
    const [completed, failed] = [await start(server, ids.echo), await start(server, ids.failing)];
    await until(server, completed, "completed");
    await until(server, failed, "failed");
    for (const taskId of [completed, failed]) {
      const before = (await task("tasks/get", { taskId })).body.result;
      expect(before.status).toBe("completed");
      expect(await Promise.all([1, 2, 3].map(() => cancelled(taskId)))).toEqual([before, before, before]);
    }
    const taskId = await start(server, ids.patient);
    const answers = await Promise.all([1, 2, 3, 4].map(() => cancelled(taskId)));
    expect(answers.map(({ status }) => status)).toEqual(Array(4).fill("cancelled"));
  });
});

test("a task that was answered is there after `kill -9`", async () => {
  const { body } = await waited(server, task("tools/call", { name: "test_patient", arguments: {} }));
  const { taskId } = body.result;
  await server.kill();
  await server.restart();
  expect((await task("tasks/get", { taskId })).body.result).toMatchObject({ taskId, status: "working" });
  expect((await task("tasks/cancel", { taskId })).body.result).toMatchObject({ resultType: "complete" });
  expect((await task("tasks/get", { taskId })).body.result).toMatchObject({ status: "cancelled" });
});

test("tools have the title and the summary of their definitions, else a sentence", async () => {
  const definition = (name: string, more: string): string =>
    `document: {dsl: '1.0.3', namespace: test, name: ${name}, version: '1.0.0'${more}}\ndo: [{a: {set: {b: 1}}}]\n`;
  for (const text of [definition("told", ", title: Told, summary: 'Use it \\u0026 tell.'"), definition("untold", "")])
    await server.data("mutation($definition: String!) { publishAgent(input: {definition: $definition}) { id } }", {
      definition: text,
    });
  const { tools } = (await ask(server, token, "tools/list")).body.result;
  const tool = (name: string): Data => tools.find((one: Data) => one.name === name);
  expect(tool("test_told")).toMatchObject({ title: "Told", description: expect.stringMatching(/^Use it .* tell\.$/) });
  expect(tool("test_untold")).toMatchObject({ title: "untold", description: "Starts a run of untold." });
});

describe("nonsense", () => {
  const request = (params: object, more: object = {}): object => ({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params,
    ...more,
  });

  test.each<[string, unknown]>([
    ["a list", [1]],
    ["a text", "x"],
    ["a number", 7],
  ])("arguments that are %s start nothing", async (_, given) => {
    const { body } = await call("test_echo", given);
    expect(body.result).toMatchObject({ isError: true, _meta: { "autograph/error": { code: "BAD_USER_INPUT" } } });
  });

  test("arguments that are nested too deep, or of many keys, end in an answer", async () => {
    const nested = `${'{"a":'.repeat(LIMITS.jsonNesting)}1${"}".repeat(LIMITS.jsonNesting)}`;
    const deep = JSON.stringify(request({ name: "test_echo" })).replace('"name"', `"arguments":${nested},"name"`);
    expect(await send(server, token, deep)).toMatchObject({ status: 400, body: { error: { code: -32_700 } } });
    const many = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, n) => [`key${n}`, n]));
    expect(await call("test_echo", many(60_000))).toMatchObject({ status: 400, body: { error: { code: -32_700 } } });
    const { structuredContent } = (await call("test_echo", many(9_000))).body.result;
    expect(Object.keys(structuredContent.output)).toHaveLength(9_000);
    const { body } = await call("get_run", many(9_000));
    expect(body.result).toMatchObject({ isError: true });
    expect(JSON.stringify(body).length).toBeLessThan(20_000);
  });

  test("names of objects' own parts are no keys, and no names of tools", async () => {
    for (const given of ['{"__proto__":{"a":1}}', '{"constructor":{"prototype":1}}', '{"a":[{"\\u005f_proto__":1}]}'])
      expect(
        await send(server, token, JSON.stringify(request({ name: "test_echo", arguments: "?" })).replace('"?"', given)),
      ).toMatchObject({ status: 400, body: { error: { code: -32_700 } } });
    for (const name of ["__proto__", "constructor", "toString", "test_echo "])
      expect((await call(name)).body.error).toMatchObject({ code: expect.any(Number) });
  });

  test.each(["\0", "\ud800", "%"])("as the beginning of a name that was cut names no tool: %j", async (sign) => {
    const name = `${sign.repeat(46)}__${"0".repeat(16)}`;
    const { body } = await send(server, token, request({ name, arguments: {} }));
    expect(body.error).toMatchObject({ code: -32_602, data: { code: "NOT_FOUND" } });
  });

  test.each(["", " ", "null", "2025-03-26", "2026-07-28x", `${STATELESS}, ${STATELESS}`, "9".repeat(5_000), "{}"])(
    "as the header of the revision is refused with those that there are: %j",
    async (version) => {
      const { status, body } = await send(server, token, request({ name: "test_echo" }), {
        "mcp-protocol-version": version,
      });
      expect({ status, body }).toMatchObject({ status: 400, body: { id: 1, error: { code: -32_022 } } });
      expect(body.error.data.supported).toContain("2025-11-25");
      expect(JSON.stringify(body).length).toBeLessThan(1_000);
    },
  );

  test.each(["", "x", "0".repeat(5_000), "../..", "a, b"])(
    "as the name of a session is passed over, as there are none: %j",
    async (session) => {
      const { status, headers, body } = await send(server, token, request({ name: "test_echo", arguments: {} }), {
        "mcp-session-id": session,
      });
      expect({ status, body }).toMatchObject({ status: 200, body: { result: { structuredContent: { output: {} } } } });
      expect(headers.get("mcp-session-id")).toBeNull();
    },
  );

  test.each([[{}], [null], [[1]], [true], ["x".repeat(LIMITS.mcpMessageIdCharacters + 1)]])(
    "as a progress token is refused: %j",
    async (progressToken) => {
      const params = { name: "test_echo", arguments: {}, _meta: { progressToken } };
      expect(await send(server, token, request(params))).toMatchObject({
        status: 400,
        body: { id: 1, error: { code: -32_600 } },
      });
    },
  );

  test("in what a client answers decides nothing, and does no harm", async () => {
    const { inputRequests, requestState } = (
      await ask(
        server,
        token,
        "tools/call",
        { name: "test_approve", arguments: {} },
        { capabilities: { elicitation: {} } },
      )
    ).body.result;
    const [question] = Object.keys(inputRequests);
    const answers = [null, [], "accept", { action: "ACCEPT" }, { action: ["accept"] }, { content: {} }, {}];
    for (const inputResponses of [...answers.map((answer) => ({ [question!]: answer })), { __proto__: null }, []]) {
      const params = { name: "test_approve", requestState, inputResponses };
      const { body } = await ask(server, token, "tools/call", params, { capabilities: { elicitation: {} } });
      expect(body.result).toMatchObject({ resultType: "input_required", requestState });
    }
    const run = await readRun(server, requestState);
    expect(run).toMatchObject({ status: "paused", approvals: { nodes: [{ status: "open" }] } });
    await call("cancel_run", { runId: requestState });
    await eventually(async () => (await readRun(server, requestState)).status === "cancelled");
  });
});
