/** `kill -9` of whichever of two servers executes, again and again, while both are asked for runs of every shape. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { expectInTime } from "../in-time.ts";
import { journalOf, violations } from "./audit.ts";
import { publish } from "../agents.ts";
import { eventTriggerOf } from "../published-events.ts";
import { rolesOf, startPair, untilExecuting, type Pair } from "./pair.ts";
import { leftToLong, scaled } from "../scale.ts";
import { seeded } from "./random.ts";
import { CALLS_AT_ONCE, CLIENTS, publishShapes, shapesOf } from "./shapes.ts";
import { expectTold, untilTold } from "./told.ts";
import { expectEnds, expectOneRunAKey, expectOnlyAttempts } from "./verify.ts";
import { startWorkload } from "./workload.ts";

const KILLS = scaled({ whole: 6, part: 2 });

test.skipIf(leftToLong)(
  `${KILLS} times kill -9 of the executor of two: the other goes on within 5 s, every acknowledged run ends as it should`,
  async () => {
    const random = seeded("kill -9 of the executor");
    await using pair = await startPair();
    const { a, b, client, sink, token } = pair;
    const shapes = shapesOf(sink.url);
    const agents = await publishShapes(a, shapes);
    const since = await listen(pair, shapes);
    const workload = startWorkload({
      servers: [a, b],
      token,
      random,
      shapes,
      agents,
      clients: CLIENTS,
      explain: (runId) => journalOf(client, runId),
    });
    for (let kill = 0; kill < KILLS; kill++) {
      await sleep(random.between(500, 2_000));
      const { executor, standby } = await rolesOf(pair);
      await executor.server.kill();
      expectInTime(await untilExecuting(client, standby.name), 5_000);
      await sleep(random.between(0, 500));
      await executor.server.restart();
    }
    await workload.finish();
    const { asked } = workload;
    expect(new Set(asked.map(({ shape }) => shape.name)).size).toBe(shapes.length);
    await expectEnds(a, asked, token);
    await expectOneRunAKey(client, asked);
    expect(await expectOnlyAttempts(client, sink)).toBeLessThanOrEqual(KILLS * CLIENTS * CALLS_AT_ONCE);
    // Longer than what the killed ones had in their hands is left alone.
    for (const server of [a, b]) await server.clock.advance(60_000);
    const { organizationId } = a.world;
    await untilTold(client, organizationId);
    const told = await expectTold(client, organizationId, [...agents.keys()], TRIGGERS, since);
    expect(told).toBeGreaterThanOrEqual(asked.length);
    expect(await violations(client)).toEqual([]);
  },
);

const TRIGGERS = { "run.completed": 2, "run.failed": 1, "run.cancelled": 1, "approval.requested": 1 };

/** Makes triggers on all of this at one of the two; answers a time from which on both know of them. */
async function listen(pair: Pair, shapes: readonly { name: string }[]): Promise<Date> {
  const echo = await publish(pair.a, "echo");
  const filter = { agent: shapes.map(({ name }) => name) };
  for (const [event, many] of Object.entries(TRIGGERS)) {
    for (let made = 0; made < many; made++) await eventTriggerOf(pair.a, echo, { source: "autograph", event, filter });
  }
  await sleep(5_000);
  return new Date();
}
