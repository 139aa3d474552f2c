/** The cost of a model's call to the server itself: `call: llm` beside the same request as `call: http`. */
import { setTimeout as sleep } from "node:timers/promises";
import { startFixed, startServer, temporaryFolder } from "./launch.ts";
import type { Generator } from "./load.ts";
import { interleaved, type Target } from "./measure.ts";
import { memoryOf } from "./processes.ts";
import type { Measured } from "./speed.ts";
import { connectModel, makeWorld, projectOf, publish, runAgentToEnd } from "./world.ts";

const FULL = { rounds: 3, ms: 5_000, warmUpMs: 6_000 };
const QUICK = { rounds: 1, ms: 2_000, warmUpMs: 1_000 };
const TOGETHER = 16;
const SETTLE_MS = 1_000;

export async function measureLlm(generator: Generator, sinkUrl: string, isQuick = false): Promise<Measured> {
  const effort = isQuick ? QUICK : FULL;
  using folder = temporaryFolder();
  await using model = await startFixed("thinking-model.ts", "0");
  await using server = await startServer({ folder: folder.path });
  const world = await makeWorld(server, sinkUrl);
  const project = await projectOf(server, world);
  await connectModel(server, world, project, model.url);
  const messages = [{ role: "user", content: "Where is it?" }];
  const ask = { call: "llm:1.0.0@default", with: { messages } };
  const endpoint = `${model.url}/chat/completions`;
  const post = { call: "http", with: { method: "post", endpoint, body: { model: "fixed", messages } } };
  const target = async (name: string, task: object): Promise<Target> => {
    const agentId = await publish(server, world, project, name, [{ ask: task }]);
    return { request: runAgentToEnd(server, world, agentId), roots: server.roots };
  };
  const targets = { ours: await target("asks-model", ask), floor: await target("asks-http", post) };
  const before = memoryOf(server.roots());
  for (const { request } of Object.values(targets))
    await generator.run({ ...request, connections: TOGETHER, ms: effort.warmUpMs });
  const { rounds, ms } = effort;
  const measured = await interleaved(generator, targets, { connections: TOGETHER, ms, rounds });
  await sleep(SETTLE_MS);
  const after = memoryOf(server.roots());
  const { ours, floor } = measured.median;
  const at = `call: llm against call: http, ${TOGETHER} at once`;
  return {
    figures: [
      { figure: `${at}: rate`, unit: "/s", ours: ours.rate, floor: floor.rate },
      { figure: `${at}: CPU of Node a call`, unit: "ms", ours: ours.nodeMs, floor: floor.nodeMs },
      { figure: `${at}: CPU of PostgreSQL`, unit: "ms", ours: ours.postgresMs, floor: floor.postgresMs },
      { figure: `${at}: p50`, unit: "ms", ours: ours.p50Ms, floor: floor.p50Ms },
      { figure: "memory of Node after these calls, against before", unit: "MB", ours: after.node, floor: before.node },
    ],
    details: { llm: { ...measured, memory: { before, after } } },
  };
}
