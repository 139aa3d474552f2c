/** `call: mcp` over stdio: commands that the operator allows, official servers of both generations and a shell's. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { start } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { BOTH, EVERYTHING, isAlive, MISSING, SHELL, STATELESS, type StdioCommand } from "./mcp-commands.ts";
import { CALL, typed } from "./mcp-calls.ts";
import { agentOf, ENDED, readRun, runOf, until } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

const TOKEN = "a-token-that-no-one-may-see-and-that-is-long";

let server: MovedServer;
let folder: string;
beforeAll(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "autograph-mcp-"));
  server = await movedServer();
  await server.data("mutation($input: SetSecretInput!) { setSecret(input: $input) { id } }", {
    input: { projectId: server.world.projectId, name: "mcpToken", value: TOKEN },
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  fs.rmSync(folder, { recursive: true, force: true });
});

let files = 0;
/** The file in which a command leaves its process id. */
const pidFile = (): string => path.join(folder, String(files++));
const isRunning = (file: string): boolean =>
  fs.existsSync(file) && fs.readFileSync(file, "utf8") !== "" && isAlive(file);

type Given = StdioCommand & { environment?: object; with?: object };
const taskOf = ({ with: more, ...stdio }: Given, beside: object = {}): string =>
  JSON.stringify({ ask: { call: "mcp", with: { ...CALL, transport: { stdio }, ...more }, ...beside } });
const shell = (does: string, file = "", more: string[] = []): Given => ({
  command: SHELL,
  arguments: [does, file, ...more],
});
const asks = (given: Given, beside?: object, input?: object): Promise<Data> =>
  runOf(server, `use: {secrets: [mcpToken]}\ndo: [${taskOf(given, beside)}]\noutput: {as: '\${ {it: .} }'}`, input);
const outputOf = async (given: Given): Promise<Data> => {
  const { output, error } = await asks(given);
  expect(error).toBe(null);
  return output.it;
};
const errorOf = async (given: Given): Promise<Data> => (await asks(given)).error;

describe("the official servers", () => {
  test("of the first generation list and call", async () => {
    const { tools } = await outputOf({ ...EVERYTHING, with: { method: "tools/list", parameters: {} } });
    expect(tools.map(({ name }: Data) => name)).toContain("echo");
    const echo = { name: "echo", arguments: { message: "größe\nhello" } };
    expect(await outputOf({ ...EVERYTHING, with: { parameters: echo } })).toEqual({
      content: [{ type: "text", text: "Echo: größe\nhello" }],
    });
  });

  test.each([
    ["of 2026-07-28", STATELESS, {}],
    ["of both, asked in the older", BOTH, { protocolVersion: "2025-06-18" }],
  ])("%s answer", async (_, command, more) => {
    expect(await outputOf({ ...command, with: more })).toMatchObject({
      content: [{ type: "text", text: "7 costs 5" }],
      structuredContent: { id: "7", price: 5 },
    });
  });

  test("of 2026-07-28 say what is wrong", async () => {
    const parameters = { name: "broken", arguments: { id: "7" } };
    expect(await errorOf({ ...STATELESS, with: { protocolVersion: "2026-07-28", parameters } })).toMatchObject({
      type: typed("tool"),
      detail: `the tool failed at ${process.execPath}: no 7 here`,
    });
  });

  test("of 2026-07-28 refuse another revision", async () => {
    expect(await errorOf({ ...STATELESS, with: { protocolVersion: "2025-11-25" } })).toMatchObject({
      type: typed("communication"),
      detail: expect.stringMatching(/answered with the error -32022/),
    });
  });
});

describe("a command", () => {
  test("gets arguments from data, secrets in its environment, and nothing of the server's", async () => {
    const given = { ...shell("tells", "", ["${ .more }"]), environment: { TOKEN: "${ $secrets.mcpToken }" } };
    const run = await asks(given, {}, { more: "$HOME; `x`" });
    expect(run.error).toBe(null);
    expect(run.output.it.structuredContent).toMatchObject({
      token: "[redacted]",
      more: "$HOME; `x`",
      asked: {
        method: "tools/call",
        params: { ...CALL.parameters, _meta: { "autograph/idempotencyKey": expect.any(String) } },
      },
    });
  });

  test("sees no setting of the server's", async () => {
    const names = (await outputOf(shell("names"))).structuredContent;
    expect(names).toContain("PATH");
    for (const name of ["DATA_DIR", "LOG_LEVEL", "NODE_COMPILE_CACHE", "PORT", "TOKEN"])
      expect(names).not.toContain(name);
  });

  test("is shown with its arguments and without its environment", async () => {
    const given = { ...shell("tells"), environment: { TOKEN: "plain" } };
    const { steps } = await asks(given);
    expect(steps).toMatchObject([
      { kind: "mcp", input: { method: "tools/call", command: SHELL, arguments: ["tells", ""] } },
    ]);
    expect(steps[0].input).not.toHaveProperty("environment");
  });

  test("that asks back is answered: a ping, and that nothing else is there", async () => {
    expect((await outputOf(shell("asks"))).structuredContent).toEqual([
      { jsonrpc: "2.0", id: "p", result: {} },
      { jsonrpc: "2.0", id: "r", error: { code: -32_601, message: "Method not found" } },
    ]);
  });

  test.each(["leaves", "leaves-stubborn"])("that ends and %s a process behind is not survived by it", async (does) => {
    const file = pidFile();
    expect((await outputOf(shell(does, file))).structuredContent).toEqual({});
    await eventually(() => !isRunning(file));
  });

  test("that stays after its answer is ended two seconds later", async () => {
    const file = pidFile();
    expect((await outputOf(shell("stays", file))).structuredContent).toEqual({});
    expect(isRunning(file)).toBe(true);
    await server.clock.advance(2_000);
    await eventually(() => !isRunning(file));
  });
});

describe("a command that fails", () => {
  test("is not there", async () => {
    expect(await errorOf(MISSING)).toMatchObject({
      type: typed("communication"),
      detail: expect.stringMatching(
        /^\/nowhere\/mcp ended before it answered: its exit code is 127; its last words: .*not found/,
      ),
    });
  });

  test("ends: the error has its last words without secrets, and the next try starts it again with the same key", async () => {
    const given = { ...shell("dies"), environment: { TOKEN: "${ $secrets.mcpToken }" } };
    expect(await errorOf(given)).toMatchObject({
      type: typed("communication"),
      detail: `${SHELL} ended before it answered: its exit code is 3; its last words: no [redacted] here`,
    });
    const retry = JSON.stringify({ retry: { delay: "PT0S", limit: { attempt: { count: 2 } } } });
    const run = await runOf(server, `do: [{a: {try: [${taskOf(shell("recovers", pidFile()))}], catch: ${retry}}}]`);
    const keys = run.output.structuredContent.map(({ params }: Data) => params._meta["autograph/idempotencyKey"]);
    expect(keys).toEqual([expect.stringMatching(/^[\w-]{22}$/), keys[0]]);
  });

  test.each([
    ["writes without end", "floods", /wrote more than 1048576 bytes before it answered$/],
    ["writes errors without end", "mutters", /wrote more than 1048576 bytes to its error output$/],
    ["writes half a message", "breaks", /JSON/],
  ])("%s", async (_, does, detail) => {
    const file = pidFile();
    expect(await errorOf(shell(does, file))).toMatchObject({
      type: typed("communication"),
      detail: expect.stringMatching(detail),
    });
    await server.clock.advance(2_000);
    await eventually(() => !isRunning(file));
  });

  test("closes its output and stays: it is ended", async () => {
    const file = pidFile();
    const id = await start(server, await agentOf(server, `do: [${taskOf(shell("closes", file))}]`));
    await eventually(() => isRunning(file));
    await eventually(async () => {
      await server.clock.advance(1_000);
      return !isRunning(file);
    });
    expect((await until(server, id, ...ENDED)).error.detail).toMatch(/ended before it answered/);
  });
});

describe("a command that hangs", () => {
  const hanging = async (more?: object): Promise<{ id: string; file: string }> => {
    const file = pidFile();
    const id = await start(server, await agentOf(server, `do: [${taskOf({ ...shell("hangs", file), ...more })}]`));
    await eventually(() => isRunning(file));
    return { id, file };
  };

  test.each([
    ["a minute", {}, 60_000, /did not answer in full within 60 s$/],
    ["its own timeout", { with: { timeout: "PT5S" } }, 5_000, /within 5 s$/],
  ])("is killed after %s", async (_, more, ms, detail) => {
    const { id, file } = await hanging(more);
    await server.clock.advance(ms);
    expect((await until(server, id, ...ENDED)).error).toMatchObject({
      type: typed("timeout"),
      detail: expect.stringMatching(detail),
    });
    await eventually(() => !isRunning(file));
  });

  test("is killed when its run is cancelled", async () => {
    const { id, file } = await hanging();
    await server.data(`mutation { cancelRun(runId: "${id}") { id } }`);
    expect((await readRun(server, id)).status).toBe("cancelled");
    await eventually(() => !isRunning(file));
  });

  test("keeps no other call of its organization from being searched for its secrets", async () => {
    const secret = { environment: { TOKEN: "${ $secrets.mcpToken }" } };
    const file = pidFile();
    const uses = "use: {secrets: [mcpToken]}";
    const hangs = `${uses}\ndo: [${taskOf({ ...shell("hangs", file), ...secret })}]`;
    const id = await start(server, await agentOf(server, hangs));
    await eventually(() => isRunning(file));
    expect((await outputOf({ ...shell("tells"), ...secret })).structuredContent.token).toBe("[redacted]");
    await server.data(`mutation { cancelRun(runId: "${id}") { id } }`);
  });

  test("is killed with the server, however that ends, and started again by the next", async () => {
    const { id, file } = await hanging();
    const pid = fs.readFileSync(file, "utf8");
    await server.kill();
    await eventually(() => !isRunning(file));
    await server.restart();
    await eventually(() => fs.readFileSync(file, "utf8") !== pid && isRunning(file));
    await server.data(`mutation { cancelRun(runId: "${id}") { id } }`);
    await eventually(() => !isRunning(file));
  });

  test("takes places of its organization alone: no more commands at a time than it may", async () => {
    const own = LIMITS.mcpCommands / 2;
    const listed = Array.from({ length: own + 1 }, pidFile);
    const branches = listed.map(
      (file, n) => `{b${n}: ${JSON.stringify(JSON.parse(taskOf(shell("hangs", file))).ask)}}`,
    );
    const id = await start(server, await agentOf(server, `do: [{all: {fork: {branches: [${branches.join(", ")}]}}}]`));
    await eventually(() => listed.filter(isRunning).length === own);
    const other = await server.organization("neighbour");
    const data: MovedServer["data"] = (query, variables) => server.data(query, variables, other.apiKey);
    const run = await runOf({ ...server, data, world: other }, `do: [${taskOf(shell("tells"))}]`);
    expect(run.status).toBe("completed");
    expect(listed.filter(isRunning)).toHaveLength(own);
    await server.data(`mutation { cancelRun(runId: "${id}") { id } }`);
    await eventually(() => listed.filter(isRunning).length === 0);
  });
});

describe("what the operator did not allow", () => {
  test.each<[string, Given, RegExp]>([
    [
      "another command",
      { command: "/bin/sh", arguments: ["-c", "id"] },
      /command \/bin\/sh is none that the operator allows/,
    ],
    ["a shell by its path", { command: `${SHELL}/../../bin/sh` }, /is none that the operator allows/],
    ["other arguments", { ...EVERYTHING, arguments: ["-e", "1"] }, /only with other arguments/],
    ["more arguments", { ...EVERYTHING, arguments: [...EVERYTHING.arguments!, "x"] }, /only with other arguments/],
    ["a variable", { ...shell("tells"), environment: { LD_PRELOAD: "/x.so" } }, /set LD_PRELOAD for the command/],
    ["a variable of another command", { ...EVERYTHING, environment: { TOKEN: "x" } }, /set TOKEN for the command/],
  ])("is a problem when the agent is published: %s", async (_, given, message) => {
    await expect(agentOf(server, `do: [${taskOf(given)}]`)).rejects.toThrow(message);
  });

  test("and fails the run where an expression makes it", async () => {
    const { command, arguments: given } = EVERYTHING;
    const [first, second] = given!;
    const words = [first!, `\${ "${second}" + .more }`];
    const run = await asks({ command, arguments: words }, {}, { more: "x" });
    expect(run.error).toMatchObject({
      type: typed("authorization"),
      detail: expect.stringMatching(/only with other arguments \(MCP_STDIO_ALLOW\), so nothing was started$/),
    });
  });
});
