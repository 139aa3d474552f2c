/**
 * `call: assistant`: what an iteration costs us (a question to the model and a tool call, both committed) while the conversation grows to 200 kB,
 * and the memory after a thousand of them.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Figure } from "./figures.ts";
import { startFixed, startServer, temporaryFolder, type Server } from "./launch.ts";
import type { Generator } from "./load.ts";
import { measure, type Sample } from "./measure.ts";
import { memoryOf } from "./processes.ts";
import type { Measured } from "./speed.ts";
import { connectModel, makeWorld, projectOf, publish, runAgentToEnd, type World } from "./world.ts";

const ITERATIONS = 50;
/** The tool's answer: fifty of them are 200 kB. */
const PAGE = JSON.stringify({ page: "x".repeat(4_000) });
const FULL = { warmUp: 20, runs: 20 };
const QUICK = { warmUp: 2, runs: 4 };
const SETTLE_MS = 1_000;

export async function measureAssistant(generator: Generator, sinkUrl: string, isQuick = false): Promise<Measured> {
  const { warmUp, runs } = isQuick ? QUICK : FULL;
  using folder = temporaryFolder();
  await using model = await startFixed("thinking-model.ts", String(ITERATIONS));
  await using page = await startFixed("fixed-answer.ts", PAGE);
  await using server = await startServer({ folder: folder.path });
  const world = await makeWorld(server, sinkUrl);
  const agentId = await publishAssistant(server, world, { model: model.url, page: page.url });
  const request = runAgentToEnd(server, world, agentId);
  const target = { request, roots: server.roots };
  await generator.run({ ...request, connections: 1, requests: warmUp });
  await sleep(SETTLE_MS);
  const before = memoryOf(server.roots());
  const alone = await measure(generator, target, { connections: 1, requests: runs });
  const together = await measure(generator, target, { connections: 8, requests: runs });
  await sleep(SETTLE_MS);
  const after = memoryOf(server.roots());
  const figures: Figure[] = [
    ...figuresOf("alone", alone),
    ...figuresOf("8 at once", together),
    {
      figure: `assistants: memory of Node after ${(2 * runs * ITERATIONS).toLocaleString("en")} iterations more`,
      unit: "MB",
      ours: after.node,
      floor: before.node,
    },
  ];
  return { figures, details: { assistant: { alone, together, memory: { before, after } } } };
}

const figuresOf = (how: string, { nodeMs, postgresMs }: Sample): Figure[] => [
  {
    figure: `assistants of ${ITERATIONS} iterations, ${how}: CPU of Node an iteration`,
    unit: "ms",
    ours: nodeMs / ITERATIONS,
  },
  {
    figure: `assistants of ${ITERATIONS} iterations, ${how}: CPU of PostgreSQL an iteration`,
    unit: "ms",
    ours: postgresMs / ITERATIONS,
  },
];

async function publishAssistant(server: Server, world: World, urls: { model: string; page: string }): Promise<string> {
  const project = await projectOf(server, world);
  await connectModel(server, world, project, urls.model);
  const look = {
    name: "look",
    description: "Reads a page.",
    parameters: { type: "object", properties: { page: { type: "integer" } }, required: ["page"] },
    call: { method: "get", endpoint: urls.page },
  };
  const work = {
    call: "assistant:1.0.0@default",
    with: {
      prompt: "Read all pages.",
      tools: [{ http: look }],
      limits: { iterations: ITERATIONS + 1, toolCalls: ITERATIONS, tokens: 10_000_000 },
    },
  };
  return publish(server, world, project, "reads-pages", [{ work }]);
}
