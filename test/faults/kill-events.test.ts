/**
 * `kill -9` in the midst of events: none that was answered is lost and none is fired twice, however often it was sent; and whatever
 * ended is told of once, also when the process died right after that was committed.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { decodeId } from "../../server/src/lib/ids.ts";
import { publish, start } from "../agents.ts";
import { eventually } from "../client.ts";
import { eventTriggerOf, publishEvent } from "../published-events.ts";
import { leftToLong, scaled } from "../scale.ts";
import { movedServer, type MovedServer } from "../shared-server.ts";
import { connectTo } from "./audit.ts";
import { seeded } from "./random.ts";
import { expectNoOtherRuns, expectTold, untilTold } from "./told.ts";

const EVENTS = scaled({ whole: 2_000, part: 60 });
const CLIENTS = 16;
const KILLS = scaled({ whole: 4, part: 2 });

let server: MovedServer;
let echo: string;
beforeAll(async () => {
  server = await movedServer();
  echo = await publish(server, "echo");
});
afterAll(() => server[Symbol.asyncDispose]());

async function asking<Result>(ask: (database: pg.Client) => Promise<Result>): Promise<Result> {
  const database = await connectTo(server);
  try {
    return await ask(database);
  } finally {
    await database.end();
  }
}
/** The text names the organization as `$1`. */
const count = (text: string): Promise<number> =>
  asking(async (database) => {
    const values = [decodeId("organization", server.world.organizationId)];
    return (await database.query(`select count(*)::int as count from ${text}`, values)).rows[0].count;
  });

/** Begins again at once each time that so much is done. */
async function killAt(done: () => number, all: number): Promise<void> {
  const random = seeded("kill events");
  for (let kill = 1; kill <= KILLS; kill++) {
    await eventually(() => done() >= (kill * all) / (KILLS + 1), 60_000);
    await sleep(random.between(0, 20));
    await server.kill();
    await server.restart();
  }
}

/** As a sender does: until it has an answer. */
async function insist<Answer>(send: () => Promise<Answer | undefined>): Promise<Answer> {
  for (;;) {
    const answer = await send().catch(() => undefined);
    if (answer !== undefined) return answer;
    await sleep(20);
  }
}

test.skipIf(leftToLong)(
  `${KILLS} kills during ${EVENTS} events, half of them sent twice: none is lost and none starts two runs`,
  async () => {
    const source = "killed";
    await eventTriggerOf(server, echo, { source, event: "paid" });
    const answered = new Map<string, Set<string>>();
    let next = 0;
    const overGraphql = async (id: string): Promise<string | undefined> => {
      const { data, errors } = await publishEvent(server, { source, event: "paid", id, data: { id } });
      if (errors) expect(errors[0]!.extensions.code).toBe("UNAVAILABLE");
      return data?.publishEvent?.id;
    };
    const overHttp = async (id: string): Promise<string | undefined> => {
      const response = await fetch(`${server.url}/events`, {
        method: "POST",
        headers: { authorization: `Bearer ${server.world.apiKey}`, "content-type": "application/cloudevents+json" },
        body: JSON.stringify({ specversion: "1.0", source, type: "paid", id, data: { id } }),
      });
      expect([202, 503]).toContain(response.status);
      return response.status === 202 ? (await response.json()).events[0].id : undefined;
    };
    const send = async (id: string, over: typeof overHttp): Promise<void> => {
      const event = await insist(() => over(id));
      answered.set(id, (answered.get(id) ?? new Set()).add(event));
    };
    const client = async (): Promise<void> => {
      while (next < EVENTS) {
        const number = next++;
        const id = `event ${number}`;
        if (number % 2 === 0) await Promise.all([send(id, overGraphql), send(id, overHttp)]);
        else await send(id, number % 4 === 1 ? overGraphql : overHttp);
      }
    };
    await Promise.all([killAt(() => next, EVENTS), ...Array.from({ length: CLIENTS }, client)]);

    expect(answered.size).toBe(EVENTS);
    expect([...answered].filter(([, events]) => events.size !== 1)).toEqual([]);
    await eventually(
      async () => (await count("events where organization_id = $1 and fire_at is not null")) === 0,
      60_000,
    );
    const { rows } = await asking((database) =>
      database.query(
        `select e.source_id, count(f.id)::int as firings, count(r.id)::int as runs
         from events e left join firings f on f.event_id = e.id and f.outcome = 'started'
         left join runs r on r.id = f.run_id where e.source = $1 group by 1`,
        [source],
      ),
    );
    expect(rows).toHaveLength(EVENTS);
    expect(rows.filter(({ firings, runs }) => firings !== 1 || runs !== 1)).toEqual([]);
    await asking((database) => expectNoOtherRuns(database, server.world.organizationId));
  },
);

const RUNS = scaled({ whole: 400, part: 48 });

test(`${KILLS} kills while ${RUNS} runs end, fail, ask and are cancelled: each is published once, and starts one run a trigger`, async () => {
  const names = ["three", "failing", "patient", "approve"] as const;
  const agents = new Map(await Promise.all(names.map(async (name) => [name, await publish(server, name)] as const)));
  const triggers = { "run.completed": 2, "run.failed": 1, "run.cancelled": 1, "approval.requested": 1 };
  for (const [event, many] of Object.entries(triggers)) {
    for (let made = 0; made < many; made++)
      await eventTriggerOf(server, echo, { source: "autograph", event, filter: { agent: [...names] } });
  }
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < RUNS) {
      const name = names[next++ % names.length]!;
      const id = await insist(() => start(server, agents.get(name)!, { n: 1 }));
      if (name === "patient" || name === "approve")
        await insist(() => server.data(`mutation { cancelRun(runId: "${id}") { id } }`));
    }
  };
  await Promise.all([killAt(() => next, RUNS), ...Array.from({ length: CLIENTS }, client)]);
  const open =
    "runs r join agents a on a.id = r.agent_id where a.handle in ('three', 'failing') and finished_at is null and r.organization_id = $1";
  await eventually(async () => (await count(open)) === 0, 60_000);
  const told = await asking(async (database) => {
    const { organizationId } = server.world;
    await untilTold(database, organizationId);
    return expectTold(database, organizationId, names, triggers);
  });
  expect(told).toBeGreaterThanOrEqual(RUNS);
});
