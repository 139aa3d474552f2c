/**
 * The room's handle: the figures of the whole process as Prometheus reads them. The first scrape loads prom-client (60 ms) and
 * starts to watch the event loop and the garbage collector; all else is counted from the start.
 */
import type { Registry } from "prom-client";
import { samplesOf } from "./samples.ts";
import { METRICS, type Metric, type Sources } from "./table.ts";

type Scrape = { contentType: string; text: string };
export type Metrics = {
  /** Does not query the database. Returns a result again for 100 ms. */
  scrape(): Promise<Scrape>;
};

/** A scrape takes 2 ms of the thread, so a flood of them takes at most 2 % of it. */
const KEPT_MS = 100;

/** How often the event loop is looked at: every 10 ms cost 0.6 % of a core, every 20 ms a third of that. */
const LOOK_EVERY_MS = 20;

/** Their cost grows with the sockets that are open: 30,000 names made at each scrape. `autograph_connections` counts them. */
const LEFT_OUT = [
  "process_open_fds",
  "nodejs_active_resources",
  "nodejs_active_resources_total",
  "nodejs_active_handles",
  "nodejs_active_handles_total",
  "nodejs_active_requests",
  "nodejs_active_requests_total",
];

export function createMetrics(sources: Sources): Metrics {
  let opening: Promise<Registry> | undefined;
  let last: { at: number; scrape: Promise<Scrape> } | undefined;
  const read = async (): Promise<Scrape> => {
    const registry = await (opening ??= open(sources));
    return { contentType: registry.contentType, text: await registry.metrics() };
  };
  return {
    scrape: () => {
      const now = performance.now();
      if (!last || now - last.at >= KEPT_MS) last = { at: now, scrape: read() };
      return last.scrape;
    },
  };
}

async function open(sources: Sources): Promise<Registry> {
  const { collectDefaultMetrics, Registry: Registers } = (await import("prom-client")).default;
  const registry = new Registers();
  for (const metric of METRICS) registry.registerMetric(asCollected(metric, sources));
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOK_EVERY_MS });
  for (const name of LEFT_OUT) registry.removeSingleMetric(name);
  return registry;
}

type Registered = Parameters<Registry["registerMetric"]>[0];

/** The part of a metric that a registry uses. prom-client's own classes would keep a second copy of every number. */
function asCollected(metric: Metric, sources: Sources): Registered {
  const { name, help, kind: type, read } = metric;
  const get = async () => ({ name, help, type, aggregator: "sum", values: samplesOf(metric, read(sources)) });
  return { name, help, type, get } as unknown as Registered;
}
