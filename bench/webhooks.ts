/** Webhooks: how many calls a second are answered with 202, how long one takes, and whether a 404 tells by its time what was wrong. */
import type { Figure } from "./figures.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { startFloor, startServer, temporaryFolder, type Server } from "./launch.ts";
import type { Generator } from "./load.ts";
import { interleaved, type Target } from "./measure.ts";
import { runOpenLoad } from "./open-load.ts";
import { machine, today, writeResult } from "./report.ts";
import type { Measured } from "./speed.ts";
import { measureUnknown } from "./unknown-webhooks.ts";
import { graphql, makeWorld, onFloor, SETTLED_POLL_MS, untilEnded, type Request, type World } from "./world.ts";

const FULL = { rounds: 3, ms: 5_000, warmUpMs: 6_000, modestMs: 12_000, unknown: 4_000 };
const QUICK = { rounds: 1, ms: 2_000, warmUpMs: 1_000, modestMs: 3_000, unknown: 500 };
const TOGETHER = [16, 64];
/** Calls a second, for less time than a connection may be silent. */
const MODEST = 100;
const CREATE = "mutation ($input: CreateTriggerInput!) { createTrigger(input: $input) { id url } }";

/** A call of a new webhook that starts *three*. */
export async function webhookRequest(server: Server, world: World): Promise<Request> {
  const input = { agentId: world.agents.three, name: "bench", trigger: { type: "webhook" } };
  const { createTrigger: hook } = await graphql<{ createTrigger: { url: string } }>(server, world, CREATE, { input });
  return { url: hook.url, headers: {}, body: '{"n":1}', status: 202, expect: '"runId":"run_' };
}

export async function measureWebhooks(generator: Generator, sinkUrl: string, isQuick = false): Promise<Measured> {
  const effort = isQuick ? QUICK : FULL;
  using folder = temporaryFolder();
  await using floor = await startFloor(folder.path, sinkUrl);
  await using server = await startServer({ folder: folder.path });
  const world = await makeWorld(server, sinkUrl);
  const request = await webhookRequest(server, world);
  const settled = untilEnded(server, world);
  const targets: Record<"floor" | "ours", Target> = {
    floor: { request: onFloor(floor, "start"), roots: floor.roots, settled: () => sleep(SETTLED_POLL_MS) },
    ours: { request, roots: server.roots, settled },
  };
  for (const { request: each } of Object.values(targets))
    await generator.run({ ...each, connections: TOGETHER[0]!, ms: effort.warmUpMs });
  await settled();
  const figures: Figure[] = [];
  const details: Record<string, unknown> = {};
  for (const connections of TOGETHER) {
    const measured = await interleaved(generator, targets, { connections, ms: effort.ms, rounds: effort.rounds });
    const { ours, floor: bare } = measured.median;
    const at = `a webhook's calls, ${connections} at once`;
    details[at] = measured;
    figures.push(
      { figure: `${at}: answered with 202`, unit: "/s", ours: ours.rate, floor: bare.rate },
      { figure: `${at}: CPU to the run's end`, unit: "ms", ours: ours.totalMs, floor: bare.totalMs },
      { figure: `${at}: CPU of Node`, unit: "ms", ours: ours.nodeMs, floor: bare.nodeMs },
      { figure: `${at}: p50`, unit: "ms", ours: ours.p50Ms, floor: bare.p50Ms },
      { figure: `${at}: p99`, unit: "ms", ours: ours.p99Ms, floor: bare.p99Ms },
    );
  }
  const modest = await runOpenLoad({ ...request, rate: MODEST, ms: effort.modestMs, connections: 100, obeys: true });
  const bare = await runOpenLoad({
    ...targets.floor.request,
    rate: MODEST,
    ms: effort.modestMs,
    connections: 100,
    obeys: true,
  });
  if (modest.answered < modest.sent) throw new Error(`${modest.answered} of ${modest.sent}: ${modest.example}`);
  figures.push(
    { figure: `${MODEST} calls a second: p50`, unit: "ms", ours: modest.p50Ms, floor: bare.p50Ms },
    { figure: `${MODEST} calls a second: p99`, unit: "ms", ours: modest.p99Ms, floor: bare.p99Ms },
  );
  const unknown = await measureUnknown(server, sinkUrl, effort.unknown);
  const all = {
    figures: [...figures, ...unknown.figures],
    details: { webhooks: { ...details, modest, ...unknown.details } },
  };
  if (!isQuick) writeResult(`webhooks-${today()}`, { ...machine(), ...all });
  return all;
}
