/**
 * Cron triggers: what 100,000 cost that are not due, and how late an organization's only trigger fires when another has 50,000 due at
 * the same instant, all of which fire in the end.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Figure } from "./figures.ts";
import { startServer, temporaryFolder, type Server } from "./launch.ts";
import type { Generator } from "./load.ts";
import { connectTo, type Postgres } from "./postgres.ts";
import { nanosecondsOf } from "./processes.ts";
import { machine, today, writeResult } from "./report.ts";
import type { Measured } from "./speed.ts";
import { graphql, makeWorld, type World } from "./world.ts";

const FULL = { sleeping: 100_000, idleMs: 30_000, due: 50_000 };
const QUICK = { sleeping: 10_000, idleMs: 10_000, due: 5_000 };
/** Organizations with one trigger each, due at that instant. */
const OTHERS = 20;
/** From the inserts to the instant. */
const LEAST_BEFORE_MS = 20_000;
const MINUTE_MS = 60_000;
const LOOK_MS = 500;
/** The promise: design, table of promises. */
const LATE_MS = 1_000;

export async function measureCron(_generator: Generator, sinkUrl: string, isQuick = false): Promise<Measured> {
  const effort = isQuick ? QUICK : FULL;
  using folder = temporaryFolder();
  await using server = await startServer({ folder: folder.path });
  await using postgres = await connectTo(server);
  await makeWorld(server, sinkUrl);
  const others: World[] = [];
  while (others.length < OTHERS) others.push(await makeWorld(server, sinkUrl));

  const none = await idle(server, effort.idleMs);
  await insert(postgres, effort.sleeping, "0 0 1 1 *", Date.UTC(new Date().getUTCFullYear() + 1, 0, 1));
  // The clock looks again.
  await create(server, others[0]!, "0 0 1 1 *");
  await sleep(2_000);
  const sleeping = await idle(server, effort.idleMs);
  await postgres.query("delete from triggers");

  const at = Math.ceil((Date.now() + LEAST_BEFORE_MS) / MINUTE_MS) * MINUTE_MS;
  const schedule = scheduleAt(at);
  await insert(postgres, effort.due, schedule, at);
  await postgres.query("analyze triggers");
  for (const other of others) await create(server, other, schedule);
  if (Date.now() > at) throw new Error("the instant came before all triggers were made");
  const before = nanosecondsOf([server.child.pid!]);
  const left = "select count(*)::int as count from triggers where next_due_at <= $1";
  do await sleep(LOOK_MS);
  while (Date.now() <= at || (await postgres.query(left, [new Date(at)]))[0]!["count"] > 0);
  const cpu = nanosecondsOf([server.child.pid!]) - before;
  const fired = await postgres.query(
    `select f.organization_id, extract(epoch from f.at - f.due_at) * 1000 as late from firings f
      where f.outcome = 'started' and f.due_at = $1 order by late`,
    [new Date(at)],
  );
  const total = effort.due + OTHERS;
  if (fired.length !== total) throw new Error(`${fired.length} of ${total} fired`);
  const counts = Map.groupBy(fired, ({ organization_id: id }) => id as string);
  const single = [...counts.values()].filter(({ length }) => length === 1).map(([row]) => Number(row!["late"]));
  const last = Number(fired.at(-1)!["late"]);
  const many = effort.due.toLocaleString("en");
  const figures: Figure[] = [
    {
      figure: `${effort.sleeping.toLocaleString("en")} cron triggers that are not due: the server's CPU, of one processor`,
      unit: "%",
      ours: sleeping,
    },
    { figure: "none: the same", unit: "%", ours: none },
    {
      figure: `a trigger of another organization, beside ${many} due at the same instant: late, p50`,
      unit: "ms",
      ours: single[Math.floor(single.length / 2)]!,
    },
    {
      figure: `a trigger of another organization, beside ${many} due at the same instant: late, longest`,
      unit: "ms",
      ours: single.at(-1)!,
      aim: { most: LATE_MS },
    },
    { figure: `the ${many}: until the last has fired`, unit: "ms", ours: last },
    { figure: `the ${many}: Node's CPU for one`, unit: "ms", ours: cpu / 1e6 / total },
    { figure: "fired twice, or not at all", unit: "", ours: Math.abs(fired.length - total), aim: { most: 0 } },
  ];
  const details = { cron: { none, sleeping, single, last } };
  if (!isQuick) writeResult(`cron-${today()}`, { ...machine(), figures, details });
  return { figures, details };
}

/** The server's share of a processor, in percent, while nobody asks anything. */
async function idle({ child }: Server, ms: number): Promise<number> {
  const since = nanosecondsOf([child.pid!]);
  const began = performance.now();
  await sleep(ms);
  return ((nanosecondsOf([child.pid!]) - since) / 1e6 / (performance.now() - began)) * 100;
}

/** `37 14 23 11 *`, in UTC. */
function scheduleAt(at: number): string {
  const time = new Date(at);
  return `${time.getUTCMinutes()} ${time.getUTCHours()} ${time.getUTCDate()} ${time.getUTCMonth() + 1} *`;
}

const CREATE = "mutation ($input: CreateTriggerInput!) { createTrigger(input: $input) { id } }";
const create = (server: Server, world: World, schedule: string): Promise<unknown> =>
  graphql(server, world, CREATE, {
    input: {
      agentId: world.agents.three,
      name: "one",
      trigger: { type: "cron", schedule, timezone: "UTC", input: { n: 1 } },
    },
  });

/** The first organization's addresses, as they would be after that many calls. */
const insert = (postgres: Postgres, count: number, schedule: string, at: number): Promise<unknown> =>
  postgres.query(
    `insert into triggers (organization_id, id, project_id, agent_id, name, type, status, configuration, policy,
        next_due_at, wakes_at, created_by_kind, created_at, updated_at)
     select organization_id, gen_random_uuid(), project_id, id, 'many ' || number, 'cron', 'active', $2, '{}', $3, $3, 'system', $3, $3
       from generate_series(1, $1::int) number,
            (select organization_id, project_id, id from agents where handle = 'three' order by created_at limit 1) agent`,
    [count, JSON.stringify({ schedule, timezone: "UTC", input: { n: 1 } }), new Date(at)],
  );
