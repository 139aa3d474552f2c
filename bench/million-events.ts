/** A million events, each with an id of its own: whether the service takes the last ones as quickly as the first, what stays, and how it is deleted. */
import type { Figure } from "./figures.ts";
import { startServer, temporaryFolder } from "./launch.ts";
import type { Generator, LoadResult } from "./load.ts";
import { batchRequest, BATCH } from "./events.ts";
import { connectTo, type Postgres } from "./postgres.ts";
import { memoryOf } from "./processes.ts";
import { machine, today, writeResult } from "./report.ts";
import type { Measured } from "./speed.ts";
import { makeWorld } from "./world.ts";
import { NO_ID, type EventId } from "../server/src/lib/ids.ts";
import { deleteEvents } from "../server/src/events/event-store.ts";
import type { Database } from "../server/src/storage/database.ts";

const FULL = 1_000_000;
const QUICK = 50_000;
const PARTS = 10;
const CONNECTIONS = 16;
const WARM_UP_REQUESTS = 200;
/** As forget-firings.ts does. */
const DELETED_AT_ONCE = 5_000;
const MAX_GROWTH_MB = 64;
/** Promised: events a second. */
const LEAST = 5_000;

export async function measureMillion(generator: Generator, sinkUrl: string, isQuick = false): Promise<Measured> {
  const count = isQuick ? QUICK : FULL;
  using folder = temporaryFolder();
  await using server = await startServer({ folder: folder.path });
  await using postgres = await connectTo(server);
  const request = batchRequest(server, await makeWorld(server, sinkUrl));
  await generator.run({ ...request, connections: CONNECTIONS, requests: WARM_UP_REQUESTS });
  const before = memoryOf(server.roots());
  const parts: LoadResult[] = [];
  for (let part = 0; part < PARTS; part++)
    parts.push(await generator.run({ ...request, connections: CONNECTIONS, requests: count / BATCH / PARTS }));
  const after = memoryOf(server.roots());
  const rates = parts.map(({ rate }) => rate * BATCH);
  const { events, bytes } = await sizeOf(postgres);
  const longest = await deleteAll(postgres);
  const left = await sizeOf(postgres);
  const many = count.toLocaleString("en");
  const figures: Figure[] = [
    { figure: `${many} events with ids of their own: the first tenth`, unit: "/s", ours: rates[0]! },
    {
      figure: `${many} events with ids of their own: the last tenth`,
      unit: "/s",
      ours: rates.at(-1)!,
      aim: { least: LEAST },
    },
    {
      figure: "Node's memory: more than before",
      unit: "MB",
      ours: after.node - before.node,
      aim: { most: MAX_GROWTH_MB },
    },
    { figure: "on disk, with indexes: an event", unit: "bytes", ours: bytes / events },
    { figure: "to delete them all when their 30 days are over", unit: "s", ours: longest.allMs / 1_000 },
    { figure: `the longest statement of that, ${DELETED_AT_ONCE} events`, unit: "ms", ours: longest.oneMs },
    { figure: "then left", unit: "", ours: left.events, aim: { most: 0 } },
  ];
  const details = { million: { count, rates, before, after, events, bytes, ...longest } };
  if (!isQuick) writeResult(`million-events-${today()}`, { ...machine(), figures, details });
  return { figures, details };
}

async function sizeOf(postgres: Postgres): Promise<{ events: number; bytes: number }> {
  const [row] = await postgres.query(
    "select (select count(*)::int from events) as events, pg_total_relation_size('events')::float8 as bytes",
  );
  return row as { events: number; bytes: number };
}

/** As the server does every ten minutes, of all times. */
async function deleteAll(postgres: Postgres): Promise<{ allMs: number; oneMs: number }> {
  const database = { query: (text: string, values?: unknown[]) => postgres.query(text, values) } as Database;
  const since = performance.now();
  let oneMs = 0;
  let after = NO_ID as EventId;
  for (let deleted = DELETED_AT_ONCE; deleted === DELETED_AT_ONCE;) {
    const began = performance.now();
    const gone = await deleteEvents(database, { before: Date.now() + 1_000, after, most: DELETED_AT_ONCE });
    deleted = gone.length;
    after = gone.at(-1) ?? after;
    oneMs = Math.max(oneMs, performance.now() - began);
  }
  return { allMs: performance.now() - since, oneMs };
}
