/** The power goes away while runs are under way: only what was flushed is left. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isAlive } from "../../server/src/postgres/postmaster.ts";
import { publish } from "../agents.ts";
import { ON_OPERATORS, eventually, startTestServer, type TestServer } from "../client.ts";
import { scaled } from "../scale.ts";
import { startSink, type Sink } from "../sink.ts";
import { auditServer, connectTo, journalReader, violations } from "./audit.ts";
import { clusterOf, postgresProcesses } from "./kills.ts";
import { copyPages, cutPower } from "./power-loss.ts";
import { killAll } from "./processes.ts";
import { seeded } from "./random.ts";
import { CLIENTS, publishShapes, shapesOf, type Shape } from "./shapes.ts";
import { expectEnds, expectOneRunAKey, expectOnlyAttempts } from "./verify.ts";
import { insisted, startWorkload, type Asked } from "./workload.ts";

let sink: Sink;
let server: TestServer;
let shapes: Shape[];
let agents: Map<string, string>;
/** All that was asked for by the tests so far. */
const asked: Asked[] = [];
beforeAll(async () => {
  sink = await startSink();
  server = await startTestServer({ env: { OUTBOUND_ALLOW: "127.0.0.1/32" } });
  await auditServer(server);
  shapes = shapesOf(sink.url);
  agents = await publishShapes(server, shapes);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await sink[Symbol.asyncDispose]();
});

/** Nothing that was written since the last checkpoint; and half of it, by sector. */
const WRITTEN = scaled({ whole: [0, 0.5], part: [0.5] });

test.for(WRITTEN)(
  "power loss with %d of the unflushed writes on the disk: every acknowledged run is there and ends",
  async (chance, context) => {
    const random = seeded("power loss");
    context.skip(!server.isEmbedded, ON_OPERATORS);
    const cluster = clusterOf(server);
    const copies = fs.mkdtempSync(path.join(os.tmpdir(), "autograph-power-"));
    const [sure, later] = ["sure", "later"].map((name) => path.join(copies, name)) as [string, string];

    // A clean stop is a checkpoint; the next one comes 15 minutes later.
    expect(await server.stop()).toBe(0);
    copyPages(cluster, sure);
    await server.restart();
    const client = await connectTo(server);
    const checkpoints = async (): Promise<number> =>
      (await client.query("select num_done::int as done from pg_stat_checkpointer")).rows[0].done;
    const before = await checkpoints();
    const name = `${chance} `;
    const workload = startWorkload({
      servers: [server],
      random,
      shapes,
      agents,
      clients: CLIENTS,
      name,
      explain: journalReader(server),
    });
    const enough = CLIENTS + random.between(10, 30);
    await eventually(() => workload.asked.length > enough);
    copyPages(cluster, later);
    // Nothing is acknowledged any more, while PostgreSQL is in the middle of its work.
    process.kill(server.pid, "SIGSTOP");
    const { flushed } = (await client.query("select pg_current_wal_flush_lsn()::text as flushed")).rows[0];
    const processes = postgresProcesses(server);
    expect(await checkpoints()).toBe(before);
    const acknowledged = workload.asked.length;
    await server.kill();
    killAll(processes);
    await eventually(() => !processes.some(isAlive));
    cutPower(cluster, { sure, later, flushed, chance, random });
    fs.rmSync(copies, { recursive: true });

    await server.restart();
    const after = await connectTo(server);
    const { rows } = await after.query("select count(*)::int as runs from runs where parent_run_id is null");
    expect(acknowledged).toBeGreaterThan(CLIENTS);
    expect(rows[0].runs).toBeGreaterThanOrEqual(asked.length + acknowledged);
    await workload.finish();
    asked.push(...workload.asked);
    await expectEnds(server, asked);
    await expectOneRunAKey(after, asked);
    // No call was made whose step was not on the disk.
    await expectOnlyAttempts(after, sink);
    expect(await violations(after)).toEqual([]);
    await after.end();
  },
);

test("each acknowledged run is flushed to the disk before its answer, by settings and by count", async () => {
  const client = await connectTo(server);
  const settings = ["fsync", "synchronous_commit", "full_page_writes"];
  const { rows } = await client.query("select name, setting from pg_settings where name = any ($1)", [settings]);
  expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
    fsync: "on",
    synchronous_commit: "on",
    full_page_writes: "on",
  });
  const three = await publish(server, "three");
  const flushes = async (): Promise<number> =>
    (await client.query("select sum(fsyncs)::int as count from pg_stat_io where object = 'wal'")).rows[0].count;
  /** A backend tells its figures when it ends, or has been idle for 10 s. The server opens other connections. */
  const endSessions = async (): Promise<void> => {
    await client.query(
      `select pg_terminate_backend(pid, 10000) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
    );
    await eventually(async () => (await fetch(`${server.url}/readyz`)).status === 200);
  };
  await endSessions();
  await insisted(server, "{ me { id } }", {});
  const before = await flushes();
  const RUNS = 100;
  for (let run = 0; run < RUNS; run++) {
    await insisted(server, `mutation { runAgent(input: {agentId: "${three}", input: {n: 1}, wait: 9}) { id } }`, {});
  }
  // One that shares its flush with a heartbeat or with two others would be much fewer.
  await endSessions();
  await eventually(async () => (await flushes()) - before >= RUNS);
  await client.end();
});
