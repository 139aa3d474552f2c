/** `kill -9` of PostgreSQL, whole and in part, while runs of every shape are under way; the server stays. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { ON_OPERATORS, eventually, startTestServer, type TestServer } from "../client.ts";
import { scaled } from "../scale.ts";
import { startSink } from "../sink.ts";
import { auditServer, connectTo, journalReader, violations } from "./audit.ts";
import { killBackend, killPostmaster } from "./kills.ts";
import { seeded } from "./random.ts";
import { CALLS_AT_ONCE, CLIENTS, publishShapes, shapesOf } from "./shapes.ts";
import { expectEnds, expectOneRunAKey, expectOnlyAttempts } from "./verify.ts";
import { startWorkload } from "./workload.ts";

/** Kills of each kind, in turn. */
const KILLS = scaled({ whole: 20, part: 1 });

const isReady = async (server: TestServer): Promise<boolean> => (await fetch(`${server.url}/readyz`)).status === 200;

test(
  `${KILLS} times kill -9 of PostgreSQL's postmaster, and as often of one backend: every acknowledged run ends as it should`,
  { timeout: 600_000 },
  async (context) => {
    const random = seeded("kill -9 of the database");
    await using sink = await startSink();
    await using server = await startTestServer({ env: { OUTBOUND_ALLOW: "127.0.0.1/32" } });
    context.skip(!server.isEmbedded, ON_OPERATORS);
    await auditServer(server);
    const shapes = shapesOf(sink.url);
    const agents = await publishShapes(server, shapes);
    const workload = startWorkload({
      servers: [server],
      random,
      shapes,
      agents,
      clients: CLIENTS,
      explain: journalReader(server),
    });
    const { pid } = server;
    for (let kill = 0; kill < 2 * KILLS; kill++) {
      await sleep(random.between(100, 1_000));
      await (kill % 2 === 0 ? killPostmaster : killBackend)(server, random);
      await eventually(() => isReady(server));
    }
    await workload.finish();
    expect(server.pid).toBe(pid);
    const { asked } = workload;
    expect(new Set(asked.map(({ shape }) => shape.name)).size).toBe(shapes.length);
    await expectEnds(server, asked);
    const client = await connectTo(server);
    await expectOneRunAKey(client, asked);
    expect(await expectOnlyAttempts(client, sink)).toBeLessThanOrEqual(2 * KILLS * CLIENTS * CALLS_AT_ONCE);
    expect(await violations(client)).toEqual([]);
    await client.end();
  },
);
