/**
 * MCP both ways: what a call of `/mcp` costs beside the same run over GraphQL, what `call: mcp` costs beside the same request as `call: http`,
 * and the memory after thousands of either and of tasks that wait.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Figure } from "./figures.ts";
import { startFixed, startServer, temporaryFolder, type Server } from "./launch.ts";
import type { Generator } from "./load.ts";
import { interleaved, type Rounds, type Target } from "./measure.ts";
import { memoryOf } from "./processes.ts";
import type { Measured } from "./speed.ts";
import { makeWorld, projectOf, publish, runAgentToEnd, runToResult, type Request, type World } from "./world.ts";

const FULL = { rounds: 3, ms: 5_000, warmUpMs: 6_000, tasks: 1_000 };
const QUICK = { rounds: 1, ms: 2_000, warmUpMs: 1_000, tasks: 200 };
const TOGETHER = 16;
const SETTLE_MS = 1_000;
const VERSION = "2026-07-28";
const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

const CALL = { method: "tools/call", parameters: { name: "price", arguments: { id: "7" } } };

/** The answer of a tool, as our own client asks: each request is the first of its connection's. */
const TOOL_RESULT = {
  jsonrpc: "2.0",
  id: 1,
  result: { resultType: "complete", content: [{ type: "text", text: "7 costs 5" }], structuredContent: { price: 5 } },
};

export async function measureMcp(generator: Generator, sinkUrl: string, isQuick = false): Promise<Measured> {
  const effort = isQuick ? QUICK : FULL;
  using folder = temporaryFolder();
  await using tool = await startFixed("fixed-answer.ts", JSON.stringify(TOOL_RESULT));
  await using server = await startServer({ folder: folder.path });
  const world = await makeWorld(server, sinkUrl);
  const project = await projectOf(server, world);
  /** Agents that send one request each, and get the same answer. */
  const caller = async (name: string, task: object): Promise<Target> =>
    of(runAgentToEnd(server, world, await publish(server, world, project, name, [{ ask: task }])));
  const of = (request: Request): Target => ({ request, roots: server.roots });
  const pairs: Record<string, { ours: Target; floor: Target }> = {
    "/mcp, three, against GraphQL": {
      ours: of(toolCall(server, world, `${project.handle}_three`, { n: 1 })),
      floor: of(runToResult(server, world, "three")),
    },
    "call: mcp against call: http": {
      ours: await caller("calls-mcp", {
        call: "mcp",
        with: { ...CALL, protocolVersion: VERSION, transport: { http: { endpoint: tool.url } } },
      }),
      floor: await caller("calls-http", { call: "http", with: { method: "post", endpoint: tool.url, body: CALL } }),
    },
  };
  const figures: Figure[] = [];
  const details: Record<string, Rounds<"ours" | "floor">> = {};
  const before = memoryOf(server.roots());
  for (const [name, targets] of Object.entries(pairs)) {
    for (const { request } of Object.values(targets))
      await generator.run({ ...request, connections: TOGETHER, ms: effort.warmUpMs });
    details[name] = await interleaved(generator, targets, {
      connections: TOGETHER,
      ms: effort.ms,
      rounds: effort.rounds,
    });
    figures.push(...figuresOf(`${name}, ${TOGETHER} at once`, details[name]));
  }
  await sleep(SETTLE_MS);
  const after = memoryOf(server.roots());
  const tasks = toolCall(server, world, `${project.handle}_approve`, {}, TASKS);
  await generator.run({ ...tasks, connections: TOGETHER, requests: effort.tasks });
  await sleep(SETTLE_MS);
  const waiting = memoryOf(server.roots());
  figures.push(
    { figure: "memory of Node when ready", unit: "MB", ours: before.node },
    { figure: "memory of Node after these calls", unit: "MB", ours: after.node },
    {
      figure: `memory of Node with ${effort.tasks.toLocaleString("en")} open tasks more`,
      unit: "MB",
      ours: waiting.node,
      floor: after.node,
    },
  );
  return { figures, details: { mcp: { ...details, memory: { before, after, waiting } } } };
}

function figuresOf(at: string, { median: { ours, floor } }: Rounds<"ours" | "floor">): Figure[] {
  return [
    { figure: `${at}: rate`, unit: "/s", ours: ours.rate, floor: floor.rate },
    { figure: `${at}: CPU of Node a call`, unit: "ms", ours: ours.nodeMs, floor: floor.nodeMs },
    { figure: `${at}: CPU of PostgreSQL`, unit: "ms", ours: ours.postgresMs, floor: floor.postgresMs },
    { figure: `${at}: p50`, unit: "ms", ours: ours.p50Ms, floor: floor.p50Ms },
    { figure: `${at}: p99`, unit: "ms", ours: ours.p99Ms, floor: floor.p99Ms },
  ];
}

/** `tools/call` of the stateless revision. A client that can go on with tasks gets one at once where the run waits. */
function toolCall({ url }: Server, { apiKey }: World, name: string, values: object, capabilities = {}): Request {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  };
  return {
    url: `${url}/mcp`,
    headers: {
      authorization: `Bearer ${apiKey}`,
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": VERSION,
      "mcp-method": "tools/call",
      "mcp-name": name,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: values, _meta } }),
    expect: Object.keys(capabilities).length > 0 ? '"resultType":"task"' : '"status":"completed"',
  };
}
