/** Another organization that goes on with its work while one attacks. */
import { calmMsByClock } from "../../server/src/lib/processor-time.testsuite.ts";
import { publish } from "../agents.ts";
import type { TestServer } from "../client.ts";

/** As promised, for half of all queries on any machine. */
const MEDIAN_QUERY_MS = 250;
/** Ten times what is promised, for the longest: 250 ms for a query, a second for a run. */
const QUERY_DEADLINE_MS = 2_500;
const RUN_DEADLINE_MS = 10_000;
const EVERY_MS = 200;
/** A timer that comes later than this beyond its time had no processor. */
const TICK_MS = 20;

const RUN = "mutation($input: RunAgentInput!) { runAgent(input: $input) { status } }";

/** `count`: how often it asked and ran. `queryMs`, `runMs`: the longest that it waited. */
export type Canary = { count: number; queryMs: number; runMs: number; stop(): Promise<void> };

/** `agentId`: of a run that ends at once. */
export type Neighbour = { apiKey: string; agentId: string };

/** How long this process stood still since the last call, ms: then so did the server, which has the same processors. */
function watchStandstill(): (() => number) & Disposable {
  let stoodMs = 0;
  let since = performance.now();
  const timer = setInterval(() => {
    const late = performance.now() - since - 2 * TICK_MS;
    if (late > 0) stoodMs += late;
    since = performance.now();
  }, TICK_MS);
  return Object.assign(
    () => {
      const stood = stoodMs;
      stoodMs = 0;
      return stood;
    },
    { [Symbol.dispose]: () => clearInterval(timer) },
  );
}

/** Calls `found` with what it did not get, or not in time. */
export function startCanary(
  server: Pick<TestServer, "data">,
  { apiKey, agentId }: Neighbour,
  found: (what: string) => unknown,
): Canary {
  const over = new AbortController();
  const standstill = watchStandstill();
  const timed = async (what: string, deadlineMs: number, work: () => Promise<void>): Promise<number> => {
    standstill();
    const since = performance.now();
    try {
      await work();
    } catch (error) {
      if (!over.signal.aborted) found(`the neighbour's ${what}: ${String(error).slice(0, 200)}`);
    }
    const ms = calmMsByClock(performance.now() - since - standstill(), deadlineMs);
    if (ms > deadlineMs) found(`the neighbour's ${what} took ${Math.round(ms)} ms`);
    return ms;
  };
  const query = async (): Promise<void> => {
    await server.data("{ me { id } }", {}, apiKey);
  };
  const run = async (): Promise<void> => {
    const { runAgent } = await server.data(RUN, { input: { agentId, input: { n: 1 }, wait: 30 } }, apiKey);
    if (runAgent.status !== "completed") throw new Error(`it is ${runAgent.status}`);
  };
  const queries: number[] = [];
  const canary: Canary = {
    count: 0,
    queryMs: 0,
    runMs: 0,
    stop: async () => {
      if (over.signal.aborted) return loop;
      over.abort();
      await loop;
      standstill[Symbol.dispose]();
      const middle = queries.toSorted((a, b) => a - b)[Math.floor(queries.length / 2)] ?? 0;
      const median = calmMsByClock(middle, MEDIAN_QUERY_MS);
      if (median > MEDIAN_QUERY_MS) found(`half of the neighbour's queries took more than ${Math.round(median)} ms`);
    },
  };
  const loop = (async () => {
    while (!over.signal.aborted) {
      queries.push(await timed("query", QUERY_DEADLINE_MS, query));
      canary.queryMs = Math.max(canary.queryMs, queries.at(-1)!);
      canary.runMs = Math.max(canary.runMs, await timed("run", RUN_DEADLINE_MS, run));
      canary.count++;
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  })();
  return canary;
}

/** One for a table of attacks. `troubles`: what it did not get. */
export async function startNeighbour(
  server: Pick<TestServer, "data" | "world" | "organization">,
): Promise<Canary & { troubles: string[] }> {
  const { projectId, apiKey } = await server.organization("other");
  const agentId = await publish(server, "three", { projectId, apiKey });
  const troubles: string[] = [];
  return Object.assign(
    startCanary(server, { apiKey, agentId }, (what) => troubles.push(what)),
    { troubles },
  );
}

/** Prints how long it waited. `what`: the table. */
export function sayHowLong(what: string, { count, queryMs, runMs }: Canary): void {
  const [query, run] = [queryMs, runMs].map(Math.round);
  process.stderr.write(
    `${what}: the neighbour asked and ran ${count} times, and waited ${query} and ${run} ms at most\n`,
  );
}
