/** Starts of a run of calls while servers are killed, and what must be true afterwards. */
import { expect } from "vitest";
import { start } from "./agents.ts";
import { eventually, type Data, type TestServer } from "./client.ts";
import type { MovedServer } from "./shared-server.ts";
import { agentOf, readRun } from "./runs.ts";
import type { Sink } from "./sink.ts";

const CLIENTS = 16;

type Killed = Pick<TestServer & MovedServer, "data" | "graphql" | "world" | "kill" | "restart">;

/** Agents of three calls. The first request of `unanswered` gets no answer: it is under way until a kill. */
export type Calls = { sink: Sink; answered: string; unanswered: string };

export async function publishCalls(server: Killed, sink: Sink): Promise<Calls> {
  const publish = (first: string): Promise<string> => {
    const call = (behaviour: string, step: number): string =>
      `  - call${step}: {call: http, with: {method: post, endpoint: '${sink.url}${behaviour}', query: {run: '\${ $workflow.id }', step: '${step}'}}}`;
    return agentOf(server, `do:\n${[first, "/delay/5", "/delay/5"].map((one, at) => call(one, at + 1)).join("\n")}\n`);
  };
  return { sink, answered: await publish("/delay/5"), unanswered: await publish("/hang/1") };
}

/** Every run there is, by id. */
async function allRuns(server: Killed): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (let after: string | null = null; ;) {
    const { runs }: Data = await server.data(
      "query($after: String) { runs(first: 200, after: $after) { nodes { id status } pageInfo { hasNextPage endCursor } } }",
      { after },
    );
    for (const { id, status } of runs.nodes) found.set(id, status);
    if (!runs.pageInfo.hasNextPage) return found;
    after = runs.pageInfo.endCursor;
  }
}

const openRuns = async (server: Killed): Promise<Data[]> =>
  (await server.data("{ runs(filter: {status: [pending, running, paused]}, first: 1) { nodes { id } } }")).runs.nodes;

/** Each kill meets the next of the servers, in the middle of a call at least; it begins again at once. Answers what was acknowledged. */
export async function startThroughKills(
  calls: Calls,
  servers: { server: Killed; start: (agentId: string) => Promise<string> }[],
  { starts, kills }: { starts: number; kills: number },
): Promise<string[]> {
  const acknowledged: string[] = [];
  const client = async (_: unknown, number: number): Promise<void> => {
    const own = servers[number % servers.length]!;
    while (acknowledged.length < starts) {
      const id = await own.start(calls.answered).catch(() => undefined);
      if (id) acknowledged.push(id);
      else await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  // As systemd would: nobody does anything but start the same command again.
  const supervisor = async (): Promise<void> => {
    for (let done = 0; done < kills; done++) {
      const { server, start: startAt } = servers[done % servers.length]!;
      await eventually(() => acknowledged.length >= ((done + 1) * starts) / (kills + 1), 60_000);
      const id = await startAt(calls.unanswered);
      acknowledged.push(id);
      await eventually(() => calls.sink.count(id, 1));
      await server.kill();
      await server.restart();
    }
  };
  await Promise.all([supervisor(), ...Array.from({ length: CLIENTS }, client)]);
  await eventually(async () => (await openRuns(servers[0]!.server)).length === 0, 90_000);
  return acknowledged;
}

/** Nothing is lost; each request that the sink saw more than once is an attempt of its step, the ones before interrupted by a kill. */
export async function expectNothingLost(
  server: Killed,
  { sink }: Calls,
  acknowledged: string[],
  kills: number,
): Promise<void> {
  const runs = await allRuns(server);
  expect(acknowledged.filter((id) => runs.get(id) !== "completed")).toEqual([]);
  expect([...runs.values()].filter((status) => status !== "completed")).toEqual([]);
  const { keysChanged, steps, repeated } = sink.summary();
  expect({ keysChanged, steps }).toEqual({ keysChanged: 0, steps: runs.size * 3 });
  expect(repeated).toBeGreaterThanOrEqual(kills);
  const repeats = [...sink.requests.values()].filter(({ requests }) => requests > 1);
  for (const { run, step, requests } of repeats) {
    const { attempts } = (await readRun(server, run)).steps[Number(step) - 1];
    expect(attempts.length).toBeGreaterThanOrEqual(requests);
    expect(requests).toBeLessThanOrEqual(1 + kills);
    for (const { error } of attempts.slice(0, -1)) expect(error.detail).toMatch(/process stopped/);
  }
}

export const startOn = (server: Killed) => (agentId: string) => start(server, agentId);
