/** Thousands of runs, most of them small and some that chance has written, with kills and cancels: the journal stays sound. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { decodeId } from "../../server/src/lib/ids.ts";
import { publish } from "../agents.ts";
import { eventually, startTestServer, type Data } from "../client.ts";
import { agentOf, CANCEL, DECIDE } from "../runs.ts";
import { leftToLong, scaled } from "../scale.ts";
import { startSink } from "../sink.ts";
import { connectTo, installAudit, statusesOf, violations } from "./audit.ts";
import { endSession, killBackend, killPostmaster } from "./kills.ts";
import { randomDefinition } from "./random-definition.ts";
import { seeded } from "./random.ts";
import { insist, insisted } from "./workload.ts";

const RUNS = scaled({ whole: 10_000, part: 100 });
const SMALL_CLIENTS = scaled({ whole: 24, part: 6 });
const WILD_CLIENTS = scaled({ whole: 10, part: 6 });
/** Chance goes on until each end has happened this often. */
const LEAST = scaled({ whole: 20, part: 5 });
const DEFINITIONS = scaled({ whole: 60, part: 25 });
const KILLS = scaled({ whole: 8, part: 2 });

const hasLeast = (statuses: Record<string, number>): boolean =>
  ["completed", "failed", "cancelled"].every((status) => (statuses[status] ?? 0) > LEAST);

const START = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id status output } }";
const OPEN = "{ approvals(filter: {status: open}, first: 50) { nodes { id } } }";

/** A step that is cancelled in the pause before another try, and reached again: chance alone writes one once in thousands of runs. */
const CANCELLED_BETWEEN_TRIES = `do:
  - outer:
      try:
        - within:
            do:
              - inner:
                  try: [{first: {if: "\${ $runtime.now.epoch.milliseconds % 2 == 0 }", raise: {error: {type: "https://example.org/errors/chance", status: 404}}}}]
                  catch: {retry: {delay: {milliseconds: 400}, limit: {attempt: {count: 3}}}}
            timeout: {after: {milliseconds: 30}}
      catch: {retry: {delay: {milliseconds: 1}, limit: {attempt: {count: 3}}}}`;

test.skipIf(leftToLong)(
  `${RUNS} runs and ${KILLS} kills: states along the table, numbers and revisions without gaps, one result for a key`,
  async () => {
    const random = seeded("invariants");
    await using sink = await startSink();
    await using server = await startTestServer({ env: { OUTBOUND_ALLOW: "127.0.0.1/32" } });
    const installing = await connectTo(server);
    await installAudit(installing);
    await installing.end();
    const three = await publish(server, "three");
    const wild = [await agentOf(server, CANCELLED_BETWEEN_TRIES, "cancelled-between-tries")];
    for (let count = 0; count < DEFINITIONS; count++) {
      wild.push(
        await agentOf(
          server,
          stringify(randomDefinition(random, sink.url, "three"), { lineWidth: 0 }),
          `wild-${count}`,
        ),
      );
    }
    const acknowledged = new Map<string, string>();
    let keys = 0;
    const over = new AbortController();

    const small = async (): Promise<void> => {
      while (acknowledged.size < RUNS) {
        const idempotencyKey = `small-${++keys}`;
        const { runAgent } = await insisted(server, START, {
          input: { agentId: three, input: { n: keys }, idempotencyKey, wait: 10 },
        });
        acknowledged.set(idempotencyKey, runAgent.id);
      }
    };
    const wildly = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const idempotencyKey = `wild-${++keys}`;
        const input = { agentId: random.pick(wild), input: {}, idempotencyKey };
        const { runAgent } = await insisted(server, START, { input });
        acknowledged.set(idempotencyKey, runAgent.id);
        await sleep(random.between(0, 60));
        if (random.next() < 0.2) await insist(server, CANCEL, { id: runAgent.id });
      }
    };
    /** Whatever is asked, one way or the other. */
    const decideAll = async (): Promise<void> => {
      const { approvals } = await insisted(server, OPEN, {});
      for (const { id } of approvals.nodes) {
        await insist(server, DECIDE, { input: { approvalId: id, decision: random.pick(["approve", "reject"]) } });
      }
    };
    const decider = async (): Promise<void> => {
      for (; !over.signal.aborted; await sleep(100)) await decideAll();
    };
    const killer = async (): Promise<void> => {
      for (let kill = 1; kill <= KILLS; kill++) {
        await eventually(() => acknowledged.size >= (kill * RUNS) / (KILLS + 1), 60_000);
        await sleep(random.between(0, 200));
        // On the operator's PostgreSQL only sessions: eight ends of the server in a row would be taken up too carefully for
        // this test, with pauses of 10 s.
        const ofPostgres = server.isEmbedded ? (["postmaster", "backend"] as const) : (["session"] as const);
        const what = kill % 2 === 1 ? "server" : random.pick<(typeof ofPostgres)[number]>(ofPostgres);
        if (what === "session") await endSession(server);
        else if (what === "postmaster") await killPostmaster(server);
        else if (what === "backend") await killBackend(server, random);
        else {
          await server.kill();
          await server.restart();
        }
      }
    };
    const beside = Promise.all([...Array.from({ length: WILD_CLIENTS }, wildly), decider()]);
    beside.catch(() => {});
    await Promise.all([killer(), ...Array.from({ length: SMALL_CLIENTS }, small)]);
    const client = await connectTo(server);
    await Promise.race([beside, eventually(async () => hasLeast(await statusesOf(client)))]);
    over.abort();
    await beside;
    const open = async (): Promise<number> =>
      (await client.query("select count(*)::int as open from runs where status in ('pending', 'running', 'paused')"))
        .rows[0].open;
    await eventually(async () => {
      await decideAll();
      return (await open()) === 0;
    }, 60_000);

    expect(await violations(client)).toEqual([]);
    const { rows } = await client.query("select key, run_id from idempotency_keys");
    const known = new Map(rows.map(({ key, run_id: runId }: Data) => [key, runId]));
    expect(known.size).toBe(acknowledged.size);
    expect([...acknowledged].filter(([key, id]) => known.get(key) !== decodeId("run", id))).toEqual([]);
    const { rows: wrong } = await client.query(
      "select id from runs where agent_id = $1 and parent_run_id is null and (output ->> 'n')::int is distinct from (input ->> 'n')::int + 3",
      [decodeId("agent", three)],
    );
    expect(wrong).toEqual([]);
    const statuses = await statusesOf(client);
    expect(hasLeast(statuses)).toBe(true);
    const { rows: steps } = await client.query(
      "select kind, status, count(*)::int from steps group by 1, 2 order by 1, 2",
    );
    process.stderr.write(
      `${JSON.stringify(statuses)} ${steps.map(({ kind, status, count }) => `${kind} ${status} ${count}`).join(", ")}\n`,
    );
    await client.end();
  },
  1_200_000,
);
