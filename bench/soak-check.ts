/** Checks what must be true when the stream has ended: read from the API, as a client would. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Server } from "./launch.ts";
import { STEPS, type SoakSink } from "./soak-sink.ts";
import { KINDS, type Kind, type Stream } from "./soak-stream.ts";
import { graphql, openRuns, type World } from "./world.ts";

export type Verdict = { what: string; found: number } & ({ allowed: number } | { least: number });

export const isKept = (verdict: Verdict): boolean =>
  "least" in verdict ? verdict.found >= verdict.least : verdict.found <= verdict.allowed;

/** So that a soak says something about calls: a thousand in a full one of fifty kills. */
export const CALLS_PER_KILL = 20;

const SETTLE_POLL_MS = 200;
const PAGE = `query ($agentId: ID!, $after: String) {
  runs(filter: { agentId: $agentId }, first: 200, after: $after) {
    nodes { id status }
    pageInfo { endCursor hasNextPage }
  }
}`;
type Page = {
  runs: { nodes: { id: string; status: string }[]; pageInfo: { endCursor: string; hasNextPage: boolean } };
};

/** Until no run is open, or that long. */
export async function untilSettled(server: Server, world: World, mostMs: number): Promise<void> {
  const end = performance.now() + mostMs;
  for (const kind of KINDS) {
    while (performance.now() < end && (await openRuns(server, world, world.agents[kind])) > 0)
      await sleep(SETTLE_POLL_MS);
  }
}

async function statuses(server: Server, world: World, kind: Kind): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (let after: string | undefined, more = true; more;) {
    const { runs } = await graphql<Page>(server, world, PAGE, { agentId: world.agents[kind], after });
    for (const { id, status } of runs.nodes) found.set(id, status);
    after = runs.pageInfo.endCursor;
    more = runs.pageInfo.hasNextPage;
  }
  return found;
}

export type Subjects = { server: Server; world: World; stream: Stream; sink: SoakSink };

/** `repeatsAllowed`: how many calls could have been under way at the kills. */
export async function check(
  { server, world, stream, sink }: Subjects,
  { kills, callsMet, repeatsAllowed }: { kills: number; callsMet: number; repeatsAllowed: number },
): Promise<Verdict[]> {
  const count = { lost: 0, notCompleted: 0, extra: 0, missing: 0 };
  for (const kind of KINDS) {
    const found = await statuses(server, world, kind);
    for (const id of stream.acknowledged[kind]) {
      if (!found.has(id)) count.lost++;
      if (kind === "call" && !calledOfAll(sink, id)) count.missing++;
    }
    for (const [id, status] of found) {
      if (!stream.acknowledged[kind].has(id)) count.extra++;
      if (status !== "completed") count.notCompleted++;
    }
  }
  return [
    { what: "acknowledged runs lost", found: count.lost, allowed: 0 },
    { what: "runs that did not end completed", found: count.notCompleted, allowed: 0 },
    {
      what: "runs beyond the acknowledged (starts without an answer)",
      found: count.extra,
      allowed: stream.unanswered(),
    },
    { what: "steps of acknowledged runs never called", found: count.missing, allowed: 0 },
    { what: "finished steps called again", found: sink.finishedCalledAgain(), allowed: 0 },
    { what: "repeated calls with another Idempotency-Key", found: sink.keysChanged(), allowed: 0 },
    { what: "calls that waited for their answers at the kills", found: callsMet, least: kills * CALLS_PER_KILL },
    { what: "calls repeated after a kill", found: sink.repeats(), allowed: repeatsAllowed },
  ];
}

const calledOfAll = (sink: SoakSink, run: string): boolean =>
  Array.from({ length: STEPS }, (_, index) => sink.runs.get(run)?.requests[index] ?? 0).every(
    (requests) => requests > 0,
  );
