/** `kill -9` of the server at random moments while assistants of every kind are in flight. */
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { expect, test } from "vitest";
import { idempotencyKeyOf } from "../../server/src/execution/effect.ts";
import type { RunId } from "../../server/src/lib/ids.ts";
import { startTestServer, type Data, type TestServer } from "../client.ts";
import { DECIDE } from "../runs.ts";
import { scaled } from "../scale.ts";
import { publishAssistants, randomScript, startDoubles, type Doubles, type Seen } from "./assistants.ts";
import { connectTo, installAudit, violations } from "./audit.ts";
import { seeded, type Random } from "./random.ts";
import { insisted } from "./workload.ts";

const SCRIPTS = scaled({ whole: 300, part: 24 });
const KILLS = scaled({ whole: 20, part: 3 });
/** How many runs are started at a time. */
const STARTERS = 8;
/** The last kill comes before this share of all calls. */
const LAST_KILL = 0.9;
/** By so much a kill comes after the answer of its call, at most. */
const MAX_AFTER_MS = 20;
const LOOK_MS = 20;
/** For what hangs: twenty starts of a server take a while on a busy machine. */
const TIMEOUT_MS = scaled({ whole: 1_800_000, part: 300_000 });

const START = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }";
const OPEN = "{ approvals(filter: {status: open}, first: 50) { nodes { id toolCall { arguments } run { input } } } }";
const RUN = "query($id: ID!) { run(id: $id) { status output error { type detail } } }";

/** A kill at a call, counted from 1: that call is answered before it, or not at all. */
type Kill = { call: number; isAnswered: boolean; afterMs: number };

function randomKills(random: Random, calls: number): Kill[] {
  const kills = Array.from({ length: KILLS }, () => ({
    call: random.between(1, Math.floor(calls * LAST_KILL)),
    isAnswered: random.next() < 0.5,
    afterMs: random.between(0, MAX_AFTER_MS),
  }));
  return kills.toSorted((a, b) => a.call - b.call);
}

test(
  `${KILLS} times kill -9 while ${SCRIPTS} assistants are in flight: all end as they would have, and what is over is never called again`,
  { timeout: TIMEOUT_MS },
  async () => {
    const random = seeded("kill -9 of assistants");
    await using doubles = await startDoubles();
    await using server = await startTestServer({ env: { OUTBOUND_ALLOW: "127.0.0.1/32" } });
    const client = await connectTo(server);
    await installAudit(client);
    const agents = await publishAssistants(server, doubles);
    const scripts = Array.from({ length: SCRIPTS }, (_, number) => randomScript(random, number));
    const startAll = async (): Promise<string[]> => {
      const ids: string[] = [];
      const next = scripts.entries();
      const starter = async (): Promise<void> => {
        for (const [index, script] of next) {
          const input = { agentId: agents.get(script.assistant)!, input: { script: JSON.stringify(script) } };
          ids[index] = (await insisted(server, START, { input })).runAgent.id;
        }
      };
      await Promise.all(Array.from({ length: STARTERS }, starter));
      return ids;
    };

    let calls = 0;
    doubles.watch = () => ++calls > 0;
    const undisturbed = await startAll();
    await decideUntilEnded(server, client);
    const calm = allSeen(doubles);
    const kills = randomKills(random, calls);

    doubles.clear();
    const { promise: allStarted, resolve: open } = Promise.withResolvers<void>();
    doubles.gate = allStarted;
    const disturbed = await startAll();
    const killing = killAt(kills, { server, client, doubles });
    open();
    const [deaths] = await Promise.all([killing, decideUntilEnded(server, client)]);

    expect(await endsOf(server, disturbed)).toEqual(await endsOf(server, undisturbed));
    const seen = allSeen(doubles);
    // Each of the calls that a run makes, once.
    expect(bodiesByKey(seen)).toEqual(bodiesByKey(calm));
    expect(seen.map(({ body }) => body).join("\n")).not.toMatch(/"decision":"(reject|change)"/);
    for (const { over, before } of deaths) {
      const later = doubles.seen.flatMap((some, index) => some.slice(before[index]));
      expect(later.filter(({ key }) => over.has(key))).toEqual([]);
    }
    const repeated = await expectRequestsOfAttempts(client, seen);
    expect(repeated).toBeGreaterThanOrEqual(kills.filter(({ isAnswered }) => !isAnswered).length);
    expect(await violations(client)).toEqual([]);
    await client.end();
  },
);

async function endsOf(server: TestServer, ids: string[]): Promise<Data[]> {
  const ends: Data[] = [];
  for (const id of ids) ends.push((await insisted(server, RUN, { id })).run);
  return ends;
}

const allSeen = ({ seen }: Doubles): Seen[] => seen.flat();

/** In an order of their own: a key is another one in each run. */
function bodiesByKey(seen: Seen[]): string[] {
  const keys = Map.groupBy(seen, ({ key }) => key);
  return [...keys.values()].map((same) => [...new Set(same.map(({ body }) => body))].join(" and ")).toSorted();
}

/** The keys of the calls that were over when the server died, and how many had come by then. */
type Death = { over: ReadonlySet<string>; before: number[] };

async function killAt(
  kills: Kill[],
  { server, client, doubles }: { server: TestServer; client: pg.Client; doubles: Doubles },
): Promise<Death[]> {
  const deaths: Death[] = [];
  let calls = 0;
  const count = (): boolean => ++calls > 0;
  doubles.watch = count;
  for (const { call, isAnswered, afterMs } of kills) {
    const { promise: met, resolve: meet } = Promise.withResolvers<void>();
    doubles.watch = () => {
      if (++calls < call) return true;
      doubles.watch = count;
      meet();
      return isAnswered;
    };
    await met;
    if (isAnswered) await sleep(afterMs);
    await server.kill();
    deaths.push({ over: await keysOver(client), before: doubles.seen.map(({ length }) => length) });
    // As if it had lived for more than a minute: after two short lives it would take the runs up one by one.
    await client.query("update executor set unclean_stops = 0");
    await server.restart();
  }
  return deaths;
}

type StepRow = { run_id: string; key: string; kind: string; status: string; attempt: number; unfit: boolean };

const readSteps = async (client: pg.Client): Promise<(StepRow & { sent: string })[]> => {
  const { rows } = await client.query<StepRow>(
    "select run_id, key, kind, status, attempt, state -> 'unfit' is not null as unfit from steps where kind in ('model', 'tool', 'mcp', 'http', 'llm')",
  );
  return rows.map((row) => ({ ...row, sent: idempotencyKeyOf(row.run_id as RunId, row.key) }));
};

/** The keys of steps that are over, and of answers that did not fit and were committed. */
async function keysOver(client: pg.Client): Promise<Set<string>> {
  const steps = await readSteps(client);
  const isOver = ({ status }: StepRow): boolean => status === "completed" || status === "failed";
  return new Set(
    steps.flatMap((step) => (isOver(step) ? [step.sent, `${step.sent}-2`] : step.unfit ? [step.sent] : [])),
  );
}

/** Each repeated request is an attempt, which a kill has ended. Returns how many there were. */
async function expectRequestsOfAttempts(client: pg.Client, seen: Seen[]): Promise<number> {
  const steps = new Map((await readSteps(client)).map((step) => [step.sent, step]));
  let repeated = 0;
  for (const [key, requests] of Map.groupBy(seen, (one) => one.key)) {
    // A key may end like the second question of a repair.
    const step = (steps.get(key) ?? steps.get(key.replace(/-2$/, "")))!;
    expect(requests.length, JSON.stringify(step)).toBeLessThanOrEqual(step.attempt);
    repeated += requests.length - 1;
  }
  return repeated;
}

function decisionOf({ id: approvalId, toolCall, run }: Data): object {
  if (!toolCall) return { approvalId, decision: JSON.parse(run.input.script).more };
  const { title, decision } = toolCall.arguments;
  const answer = decision === "change" && { answer: { arguments: { title: `${title} changed` } } };
  return { approvalId, decision: decision === "reject" ? "reject" : "approve", ...answer };
}

/** Decides each question as its script says. */
async function decideUntilEnded(server: TestServer, client: pg.Client): Promise<void> {
  for (; ; await sleep(LOOK_MS)) {
    const { approvals } = await insisted(server, OPEN, {});
    await Promise.all(approvals.nodes.map((one: Data) => insisted(server, DECIDE, { input: decisionOf(one) })));
    const { rows } = await client.query(
      "select count(*)::int as open from runs where status in ('pending', 'running', 'paused')",
    );
    if (rows[0].open === 0) return;
  }
}
