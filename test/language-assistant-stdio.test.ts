/** `call: assistant` with MCP servers that are commands: one process for a run, on which other runs and organizations do not wait. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { start } from "./agents.ts";
import { assistant, kindsOf, lastOf, openPlaces, places } from "./assistants.ts";
import { SET_SECRET } from "./audit.ts";
import { eventually, type Data } from "./client.ts";
import { toolCall, toolCalls, type Reply } from "./llm-service.ts";
import { BOTH, isAlive, SHELL, STATELESS } from "./mcp-commands.ts";
import { agentOf, CANCEL, decide, ENDED, ran, until } from "./runs.ts";

openPlaces();

const TOKEN = "a-token-that-no-one-may-see-and-that-is-long";

let folder: string;
beforeAll(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "autograph-kept-"));
  const { server } = places;
  await server.data(SET_SECRET, { input: { projectId: server.world.projectId, name: "mcpToken", value: TOKEN } });
});
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

let files = 0;
/** A server that counts its calls, and the file in which it leaves its process id. */
const counter = (more: object = {}): { tool: object; file: string } => {
  const file = path.join(folder, String(files++));
  const environment = { TOKEN: "${ $secrets.mcpToken }" };
  return {
    tool: { mcp: { command: SHELL, arguments: ["counts", file], environment, allow: ["count"], ...more } },
    file,
  };
};
const startsOf = (file: string): number => fs.readFileSync(`${file}.starts`, "utf8").trim().split("\n").length;
const isRunning = (file: string): boolean => fs.existsSync(file) && isAlive(file);
const agentFor = (...tools: object[]): Promise<string> =>
  agentOf(places.server, `use: {secrets: [mcpToken]}\n${assistant({ tools })}`);
const COUNT: [string, object] = ["count", {}];

describe("a command that is a server", () => {
  test("is one process for a run: listed, called one call after another, and ended with the run", async () => {
    const { tool, file } = counter();
    places.model.replies = [toolCalls(COUNT, COUNT, COUNT), toolCall(...COUNT), "Done"];
    const run = await ran(places.server, await agentFor(tool), { question: "How many?" });
    expect(run.error).toBe(null);
    expect(kindsOf(run).slice(1)).toEqual([
      "mcp tools/list completed",
      "model model completed",
      "tool count completed",
      "tool count completed",
      "tool count completed",
      "model model completed",
      "tool count completed",
      "model model completed",
    ]);
    const said = run.steps.filter(({ kind }: Data) => kind === "tool").map(({ output }: Data) => output);
    expect(said.toSorted()).toEqual([1, 2, 3, 4].map((call) => `call ${call} with [redacted]`));
    expect(JSON.stringify(run)).not.toContain(TOKEN);
    expect(startsOf(file)).toBe(1);
    await eventually(() => !isRunning(file));
    const list = run.steps[1];
    expect(list.input).toMatchObject({ method: "tools/list", command: SHELL, arguments: ["counts", file] });
    expect(list.input).not.toHaveProperty("environment");
  });

  test.each([
    ["of 2026-07-28", STATELESS],
    ["of both generations", BOTH],
  ])("official ones %s list and call", async (_, command) => {
    const agentId = await agentFor({ mcp: { ...command, allow: ["price"] } });
    places.model.replies = [toolCalls(["price", { id: "7" }], ["price", { id: "8" }]), "Done"];
    const run = await ran(places.server, agentId, { question: "How much?" });
    expect(run.error).toBe(null);
    const results = places.model.asked[1]!.body.messages.filter(({ role }: Data) => role === "tool");
    expect(results.map(({ content }: Data) => content)).toEqual(["7 costs 5", "8 costs 5"]);
    const pinned = "query ($id: ID!) { agent(id: $id) { pinnedTools { nodes { server name } } } }";
    const { agent } = await places.server.data(pinned, { id: agentId });
    const server = JSON.stringify([command.command, ...command.arguments!]);
    expect(agent.pinnedTools.nodes).toEqual([{ server, name: "price" }]);
  });

  test("that dies in a call is what the model reads, and the next call starts another", async () => {
    const { tool, file } = counter();
    places.model.replies = [toolCall("count", { die: true }), toolCall(...COUNT), "Done"];
    const run = await ran(places.server, await agentFor(tool), { question: "How many?" });
    expect(run).toMatchObject({ status: "completed", output: "Done" });
    expect(lastOf(1).content).toContain("ended before it answered: its exit code is 3");
    expect(lastOf(2).content).toBe("call 1 with [redacted]");
    expect(startsOf(file)).toBe(2);
  });

  test("that hangs takes none of the time of a call that waits for its turn", async () => {
    const { tool, file } = counter();
    places.model.replies = [toolCalls(["count", { hang: true }], COUNT), "Done"];
    const id = await start(places.server, await agentFor(tool), { question: "How many?" });
    await eventually(() => fs.existsSync(`${file}.hangs`));
    await places.server.clock.advance(60_000);
    expect(await until(places.server, id, ...ENDED)).toMatchObject({ status: "completed", output: "Done" });
    const results = places.model.asked.at(-1)!.body.messages.filter(({ role }: Data) => role === "tool");
    expect(results.map(({ content }: Data) => content)).toEqual([
      expect.stringContaining("did not answer in full within 60 s"),
      "call 1 with [redacted]",
    ]);
  });

  test("the operator must allow it: else it is a problem of the definition, with its place", async () => {
    const publish = "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";
    const tools = [{ mcp: { command: "/bin/cat", arguments: ["/etc/passwd"], allow: ["count"] } }];
    const definition = `document: {dsl: '1.0.3', namespace: test, name: cat, version: '1.0.0'}\n${assistant({ tools })}`;
    const { errors } = await places.server.graphql(publish, { input: { definition } });
    expect(errors).toMatchObject([
      {
        message: expect.stringContaining("/bin/cat is none that the operator allows"),
        extensions: { fields: [{ path: "input.definition/do/0/work/with/tools/0/mcp" }] },
      },
    ]);
  });
});

describe("its end", () => {
  test("is the run's rest: while a person decides there is no process, and then another one", async () => {
    const { tool, file } = counter({ approval: true });
    places.model.replies = [toolCall(...COUNT), "Done"];
    const run = await ran(places.server, await agentFor(tool), { question: "How many?" });
    expect(run.status).toBe("paused");
    await eventually(() => !isRunning(file));
    await decide(places.server, run.id, "approve");
    expect(await until(places.server, run.id, ...ENDED)).toMatchObject({ output: "Done" });
    expect(startsOf(file)).toBe(2);
    await eventually(() => !isRunning(file));
  });

  /** The run once its model was asked, which does not answer. */
  const asking = async (agentId: string): Promise<string> => {
    const before = places.model.asked.length;
    places.model.think = (): Reply => () => {};
    const id = await start(places.server, agentId, { question: "How many?" });
    await eventually(() => places.model.asked.length > before, 60_000);
    return id;
  };

  test("is that of a run that is cancelled", async () => {
    const { tool, file } = counter();
    const id = await asking(await agentFor(tool));
    expect(isRunning(file)).toBe(true);
    await places.server.data(CANCEL, { id });
    await eventually(() => !isRunning(file));
  });

  test("is `kill -9` of the server, and the run goes on with another one", async () => {
    const { tool, file } = counter();
    const id = await asking(await agentFor(tool));
    expect(isRunning(file)).toBe(true);
    await places.server.kill();
    await eventually(() => !isRunning(file));
    places.model.think = ({ body: { messages } }): Reply =>
      messages.at(-1).role === "tool" ? messages.at(-1).content : toolCall(...COUNT);
    await places.server.restart();
    expect(await until(places.server, id, ...ENDED)).toMatchObject({ output: "call 1 with [redacted]" });
    expect(startsOf(file)).toBe(2);
  });

  test("comes earlier if another run of the organization needs its place: nobody waits for one that is idle", async () => {
    const wanted = LIMITS.mcpCommands / 2 + 1;
    const ids: string[] = [];
    const counters = Array.from({ length: wanted }, () => counter());
    for (const { tool } of counters) ids.push(await asking(await agentFor(tool)));
    const running = (): number => counters.filter(({ file }) => isRunning(file)).length;
    await eventually(() => running() === wanted - 1);
    expect(isRunning(counters[0]!.file), "the longest idle").toBe(false);
    for (const id of ids) await places.server.data(CANCEL, { id });
    await eventually(() => running() === 0);
  });
});
