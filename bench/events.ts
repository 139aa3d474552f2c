/**
 * Events: how many are accepted a second that match no trigger, by each way of publishing them; and how long one takes that fires a
 * thousand triggers.
 */
import type { Figure } from "./figures.ts";
import { startFloor, startServer, temporaryFolder, type Server } from "./launch.ts";
import { NUMBER, type Generator } from "./load.ts";
import { interleaved, median, type Target } from "./measure.ts";
import { connectTo, type Postgres } from "./postgres.ts";
import { nanosecondsOf } from "./processes.ts";
import { machine, today, writeResult } from "./report.ts";
import type { Measured } from "./speed.ts";
import { makeWorld, type Request, type World } from "./world.ts";

const FULL = { rounds: 3, ms: 3_000, warmUpMs: 2_000, fans: 10 };
const QUICK = { rounds: 1, ms: 1_500, warmUpMs: 1_000, fans: 2 };
/** Promised: events a second, and how long an event with so many triggers takes. */
const RATE = 5_000;
const FAN = 1_000;
const FAN_MS = 1_000;
export const BATCH = 100;
/** So many triggers has an agent at most. */
const TRIGGERS_OF_ONE = 100;

/** About 200 bytes of data, as a shop's order has. */
const DATA = {
  status: "paid",
  customer: { id: "customer 81", country: "DE", mail: "somebody@example.org" },
  items: [{ article: "4711", count: 2, price: 12.5 }],
  total: 25,
  // The input of the agent that it fires.
  n: 1,
};
const eventOf = (id: string, source = "bench"): object => ({
  specversion: "1.0",
  source,
  type: "order.paid",
  id,
  data: DATA,
});

type Ways = { way: string; request: Request; connections: number; events: number }[];

const post = ({ url }: Server, { apiKey }: World, type: string, body: object): Request => ({
  url: `${url}/events`,
  headers: { authorization: `Bearer ${apiKey}`, "content-type": `application/${type}` },
  body: JSON.stringify(body),
  status: 202,
  expect: '"isRepeat":false',
});

export const batchRequest = (server: Server, world: World): Request =>
  post(
    server,
    world,
    "cloudevents-batch+json",
    Array.from({ length: BATCH }, (_, index) => eventOf(`${NUMBER} ${index}`)),
  );

/** One event that matches no trigger. */
export const eventRequest = (server: Server, world: World): Request =>
  post(server, world, "cloudevents+json", eventOf(NUMBER));

const PUBLISH = "mutation ($input: PublishEventInput!) { publishEvent(input: $input) { id } }";

function waysOf(server: Server, world: World): Ways {
  const one = eventRequest(server, world);
  const input = { source: "bench", event: "order.paid", id: NUMBER, data: DATA };
  const mutation: Request = {
    url: `${server.url}/graphql`,
    headers: { authorization: `Bearer ${world.apiKey}` },
    body: JSON.stringify({ query: PUBLISH, variables: { input } }),
    expect: '"id":"event_',
  };
  return [
    { way: "POST /events, one event each, 16 at once", request: one, connections: 16, events: 1 },
    { way: "POST /events, one event each, 64 at once", request: one, connections: 64, events: 1 },
    {
      way: `POST /events, batches of ${BATCH}, 16 at once`,
      request: batchRequest(server, world),
      connections: 16,
      events: BATCH,
    },
    { way: "publishEvent, 16 at once", request: mutation, connections: 16, events: 1 },
    { way: "publishEvent, 64 at once", request: mutation, connections: 64, events: 1 },
  ];
}

export async function measureEvents(generator: Generator, sinkUrl: string, isQuick = false): Promise<Measured> {
  const effort = isQuick ? QUICK : FULL;
  using folder = temporaryFolder();
  await using floor = await startFloor(folder.path, sinkUrl);
  await using server = await startServer({ folder: folder.path });
  const world = await makeWorld(server, sinkUrl);
  const insert: Target = {
    request: {
      url: `${floor.url}/event`,
      headers: {},
      body: JSON.stringify(eventOf(NUMBER)),
      expect: '"status":"accepted"',
    },
    roots: floor.roots,
  };
  const figures: Figure[] = [];
  const details: Record<string, unknown> = {};
  for (const { way, request, connections, events } of waysOf(server, world)) {
    const targets = { floor: insert, ours: { request, roots: server.roots } };
    for (const { request: each } of Object.values(targets))
      await generator.run({ ...each, connections, ms: effort.warmUpMs });
    const measured = await interleaved(generator, targets, { connections, ms: effort.ms, rounds: effort.rounds });
    const { ours, floor: bare } = measured.median;
    details[way] = measured;
    figures.push(
      { figure: `${way}: events`, unit: "/s", ours: ours.rate * events, floor: bare.rate },
      { figure: `${way}: CPU an event`, unit: "ms", ours: ours.totalMs / events, floor: bare.totalMs },
      { figure: `${way}: CPU of Node`, unit: "ms", ours: ours.nodeMs / events, floor: bare.nodeMs },
      { figure: `${way}: p99 of a request`, unit: "ms", ours: ours.p99Ms },
    );
  }
  const many = figures.filter(({ unit, figure }) => unit === "/s" && figure.includes(" 64 at once"));
  const least = Math.min(...many.map(({ ours }) => ours));
  figures.push({ figure: "the slower way with 64 at once: events", unit: "/s", ours: least, aim: { least: RATE } });
  const fans = await fanOut(server, world, effort.fans);
  details["fans"] = fans;
  figures.push(
    {
      figure: `an event with ${FAN.toLocaleString("en")} triggers: all committed, p50`,
      unit: "ms",
      ours: median(fans.ms),
    },
    {
      figure: `an event with ${FAN.toLocaleString("en")} triggers: all committed, longest`,
      unit: "ms",
      ours: Math.max(...fans.ms),
      aim: { most: FAN_MS },
    },
    { figure: "CPU of Node for one of these firings, with its run of three steps", unit: "ms", ours: fans.cpuMs / FAN },
  );
  if (!isQuick) writeResult(`events-${today()}`, { ...machine(), figures, details: { events: details } });
  return { figures, details: { events: details } };
}

/** How long each took until its firings were committed: they are before it is answered. */
async function fanOut(server: Server, { apiKey }: World, times: number): Promise<{ ms: number[]; cpuMs: number }> {
  await using postgres = await connectTo(server);
  await insertTriggers(postgres);
  const ms: number[] = [];
  const cpu: number[] = [];
  // The first one is for the JIT.
  for (let time = 0; time <= times; time++) {
    const before = nanosecondsOf([server.child.pid!]);
    const since = performance.now();
    const response = await fetch(`${server.url}/events`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/cloudevents+json" },
      body: JSON.stringify(eventOf(`fan ${time}`, "fan")),
    });
    const tookMs = performance.now() - since;
    if (response.status !== 202) throw new Error(await response.text());
    const [{ count }] = (await postgres.query(
      "select count(*)::int as count from firings f join events e on e.id = f.event_id where e.source = 'fan' and e.source_id = $1 and f.outcome = 'started'",
      [`fan ${time}`],
    )) as [{ count: number }];
    if (count !== FAN) throw new Error(`${count} of ${FAN} fired`);
    await untilEnded(postgres);
    if (time === 0) continue;
    ms.push(tookMs);
    cpu.push((nanosecondsOf([server.child.pid!]) - before) / 1e6);
  }
  return { ms, cpuMs: median(cpu) };
}

async function untilEnded(postgres: Postgres): Promise<void> {
  for (;;) {
    const open = await postgres.query("select from runs where status in ('pending', 'running') limit 1");
    if (open.length === 0) return;
  }
}

/** As they would be after as many calls, on copies of the agent `three`. */
const insertTriggers = (postgres: Postgres): Promise<unknown> =>
  postgres.query(
    `with first as (select organization_id, id from agents where handle = 'three' order by created_at limit 1),
     copies as (
       insert into agents select made.*
         from first join agents three using (organization_id, id), generate_series(1, $1::int) number,
              jsonb_populate_record(three, jsonb_build_object('id', gen_random_uuid(), 'handle', 'three ' || number)) made
       returning organization_id, project_id, id),
     versions as (
       insert into agent_versions select made.*
         from first join agent_versions three on three.organization_id = first.organization_id and three.agent_id = first.id, copies,
              jsonb_populate_record(three, jsonb_build_object('id', gen_random_uuid(), 'agent_id', copies.id)) made)
     insert into triggers (organization_id, id, project_id, agent_id, name, type, status, configuration, policy,
        created_by_kind, created_at, updated_at)
     select organization_id, gen_random_uuid(), project_id, id, 'fan ' || number, 'event', 'active', $3, '{}', 'system', now(), now()
       from copies, generate_series(1, $2::int) number`,
    [
      FAN / TRIGGERS_OF_ONE,
      TRIGGERS_OF_ONE,
      JSON.stringify({ source: "fan", event: "order.paid", filter: { status: ["paid", "sent"] } }),
    ],
  );
