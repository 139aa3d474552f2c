/** `kill -9` of the server at random moments while runs of every shape are under way. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { eventually, startTestServer } from "../client.ts";
import { leftToLong, scaled } from "../scale.ts";
import { startSink } from "../sink.ts";
import { connectTo, installAudit, journalOf, violations } from "./audit.ts";
import { seeded } from "./random.ts";
import { CALLS_AT_ONCE, CLIENTS, publishShapes, shapesOf, unanswered } from "./shapes.ts";
import { expectEnds, expectOneRunAKey, expectOnlyAttempts } from "./verify.ts";
import { startWorkload } from "./workload.ts";

/** A run that is alone under way in five short lives in a row is taken for what ended them (docs/guarantees.md): it moves first. */
const nobodyOnTheBrink = (client: Awaited<ReturnType<typeof connectTo>>): Promise<boolean> =>
  eventually(async () => {
    const { rows } = await client.query("select from runs where blamed >= 4 and status in ('pending', 'running')");
    return rows.length === 0;
  });

const KILLS = scaled({ whole: 20, part: 2 });

test.skipIf(leftToLong)(
  `${KILLS} times kill -9 of the server: every acknowledged run ends as it should, no finished step is called again`,
  async () => {
    const random = seeded("kill -9 of the server");
    await using sink = await startSink();
    await using server = await startTestServer({ env: { OUTBOUND_ALLOW: "127.0.0.1/32" } });
    const client = await connectTo(server);
    await installAudit(client);
    const met = unanswered(sink.url);
    const shapes = shapesOf(sink.url);
    const agents = await publishShapes(server, [...shapes, met]);
    const workload = startWorkload({
      servers: [server],
      random,
      shapes,
      agents,
      clients: CLIENTS,
      explain: (runId) => journalOf(client, runId),
    });
    for (let kill = 0; kill < KILLS; kill++) {
      await sleep(random.between(100, 1_000));
      await nobodyOnTheBrink(client);
      // Each kill meets a call, however quick the others are.
      const id = await workload.start(met);
      await eventually(() => sink.count(id, "post"));
      await server.kill();
      await server.restart();
    }
    await workload.finish();
    const { asked } = workload;
    expect(new Set(asked.map(({ shape }) => shape.name)).size).toBe(shapes.length + 1);
    await expectEnds(server, asked);
    await expectOneRunAKey(client, asked);
    const repeated = await expectOnlyAttempts(client, sink);
    expect(repeated).toBeGreaterThanOrEqual(KILLS);
    expect(repeated).toBeLessThanOrEqual(KILLS * (CLIENTS * CALLS_AT_ONCE + KILLS));
    expect(await violations(client)).toEqual([]);
    await client.end();
  },
);
