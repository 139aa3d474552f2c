/** `kill -9` in the midst of webhook calls: none that was answered is lost, none that was sent twice with its name starts two runs. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { decodeId } from "../../server/src/lib/ids.ts";
import { publish } from "../agents.ts";
import { eventually } from "../client.ts";
import { leftToLong, scaled } from "../scale.ts";
import { movedServer, type MovedServer } from "../shared-server.ts";
import { call, webhookOf, type Webhook } from "../webhooks.ts";
import { connectTo } from "./audit.ts";
import { seeded } from "./random.ts";

const CALLS = scaled({ whole: 2_000, part: 60 });
const CLIENTS = 16;
const KILLS = scaled({ whole: 5, part: 2 });

let server: MovedServer;
let hook: Webhook;
beforeAll(async () => {
  server = await movedServer();
  hook = await webhookOf(server, await publish(server, "echo"));
});
afterAll(() => server[Symbol.asyncDispose]());

test.skipIf(leftToLong)(`${KILLS} kills during ${CALLS} calls, every third of them sent twice`, async () => {
  const random = seeded("kill webhooks");
  const answered = new Map<string, Set<string>>();
  let next = 0;
  const send = async (name: string): Promise<void> => {
    for (;;) {
      const sent = await call(hook.url, { name }, { headers: { "idempotency-key": name } }).catch(() => undefined);
      if (sent?.status === 202) {
        answered.set(name, (answered.get(name) ?? new Set()).add(sent.body["runId"]));
        return;
      }
      // Nobody is there, or it goes down.
      expect([undefined, 503]).toContain(sent?.status);
      await sleep(20);
    }
  };
  const client = async (): Promise<void> => {
    while (next < CALLS) {
      const name = `delivery ${next++}`;
      await Promise.all(next % 3 === 0 ? [send(name), send(name)] : [send(name)]);
    }
  };
  const clients = Array.from({ length: CLIENTS }, client);
  for (let kill = 1; kill <= KILLS; kill++) {
    await eventually(() => next >= (kill * CALLS) / (KILLS + 1), 60_000);
    await sleep(random.between(0, 20));
    await server.kill();
    await server.restart();
  }
  await Promise.all(clients);

  expect(answered.size).toBe(CALLS);
  const twice = [...answered].filter(([, runs]) => runs.size !== 1);
  expect(twice).toEqual([]);
  const database = await connectTo(server);
  const organization = [decodeId("organization", server.world.organizationId)];
  const { rows } = await database.query(
    "select f.delivery, f.run_id, r.id from firings f left join runs r on r.id = f.run_id where f.organization_id = $1 and f.outcome = 'started'",
    organization,
  );
  const runs = await database.query(
    "select count(*)::int as count from runs where organization_id = $1 and started_by_kind = 'trigger'",
    organization,
  );
  await database.end();
  expect(rows.filter(({ id }) => id === null)).toEqual([]);
  expect(new Set(rows.map(({ delivery }) => delivery))).toHaveProperty("size", CALLS);
  expect(rows).toHaveLength(CALLS);
  expect(runs.rows[0].count).toBe(CALLS);
});
