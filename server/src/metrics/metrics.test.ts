import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Histogram } from "../lib/figures.ts";
import { createMetrics } from "./metrics.ts";
import { samplesOf } from "./samples.ts";
import { METRICS, type Metric, type Sources } from "./table.ts";

const metric = (...labels: string[]): Pick<Metric, "name" | "labels"> => ({ name: "autograph_x", labels });

test("a table of counts has a sample for each combination of its labels; what is unknown has none", () => {
  expect(samplesOf(metric(), 3)).toEqual([{ labels: {}, value: 3 }]);
  expect(samplesOf(metric(), undefined)).toEqual([]);
  expect(samplesOf(metric("a", "b"), { x: { y: 1, z: 0 }, w: { y: undefined, z: 2 } })).toEqual([
    { labels: { a: "x", b: "y" }, value: 1 },
    { labels: { a: "x", b: "z" }, value: 0 },
    { labels: { a: "w", b: "z" }, value: 2 },
  ]);
});

test("buckets of a histogram are cumulative, and the last has all", () => {
  const histogram = new Histogram([1, 2]);
  for (const value of [0.5, 1.5, 1.5, 9]) histogram.observe(value);
  const labels = { type: "query" };
  expect(samplesOf(metric("type"), { query: histogram })).toEqual([
    { metricName: "autograph_x_bucket", labels: { ...labels, le: 1 }, value: 1 },
    { metricName: "autograph_x_bucket", labels: { ...labels, le: 2 }, value: 3 },
    { metricName: "autograph_x_bucket", labels: { ...labels, le: "+Inf" }, value: 4 },
    { metricName: "autograph_x_sum", labels, value: 12.5 },
    { metricName: "autograph_x_count", labels, value: 4 },
  ]);
});

const budget = { taken: 1, total: 2 };
const pool = () => ({
  connections: { in_use: 1, idle: 2 },
  waiting: 0,
  waitSeconds: Histogram.ofSeconds(),
  querySeconds: Histogram.ofSeconds(),
});
const sourcesOf = (isAccepting: () => boolean): Sources => ({
  build: { version: "1.0.0", node: "26.0.0" },
  isAccepting,
  http: { requests: {}, refusals: {} },
  connections: { open: { strangers: 0, callers: 0 } },
  entrance: { refused: 0, waiting: 0 },
  edge: () => ({ webSockets: 0, arrivals: budget }),
  graphql: { seconds: {}, withErrors: {}, refusals: {}, subscriptions: 0, answersBudget: budget },
  runs: { started: {}, ended: {}, seconds: {}, failures: {}, steps: {} },
  due: { latest: () => undefined },
  openApprovals: { latest: () => undefined },
  memory: { held: 0, limit: 1 },
  loaded: new Set(),
  places: { taken: 0, waiting: 0 },
  engine: { executing: true },
  delaySeconds: Histogram.ofSeconds(),
  commits: { waiting: 0, figures: { rows: Histogram.ofRows(), seconds: Histogram.ofSeconds() } },
  pools: { hot: pool(), list: pool(), large: pool() },
  outbound: { calls: {}, seconds: Histogram.ofSeconds() },
  loops: { lateSeconds: () => ({}) },
  mail: { outcomes: {}, seconds: Histogram.ofSeconds() },
  llm: { calls: {}, seconds: {}, tokens: {} },
  mcp: { seconds: {} },
});

test("who scrapes within a moment gets the same text: it is made once", async () => {
  let reads = 0;
  const metrics = createMetrics(sourcesOf(() => ++reads > 0));
  const [first, second] = await Promise.all([metrics.scrape(), metrics.scrape()]);
  expect(first).toBe(second);
  expect(first.text).toContain('\nautograph_build_info{version="1.0.0",node="26.0.0"} 1\n');
  expect(first.text).not.toMatch(/^autograph_(due_runs|open_approvals)/m);
  expect(reads).toBe(1);
});

test("names follow Prometheus: a counter ends in _total, what has a unit names it", () => {
  for (const { name, kind, help, labels } of METRICS) {
    expect(name).toMatch(/^(autograph|gen_ai|mcp)_[a-z]+(_[a-z]+)*$/);
    expect(name.endsWith("_total"), name).toBe(kind === "counter");
    if (kind === "histogram") expect(name).toMatch(/_seconds$|_size$|_token_usage$/);
    expect(help).toMatch(/^[A-Z1].+\.$/);
    for (const label of labels)
      expect(label).toMatch(name.startsWith("autograph_") ? /^[a-z]+$/ : /^(gen_ai|mcp|network|error)_[a-z_]+$/);
  }
  expect(new Set(METRICS.map(({ name }) => name)).size).toBe(METRICS.length);
});

test("docs/operations.md has one table with every figure, as it explains itself", () => {
  const page = readFileSync(new URL("../../../docs/operations.md", import.meta.url), "utf8");
  const rows = page.split("\n").filter((line) => /^\| `(autograph|gen_ai|mcp)_/.test(line));
  const expected = METRICS.map(
    ({ name, kind, labels, help }) =>
      `| \`${name}\` | ${kind} | ${labels.map((label) => `\`${label}\``).join(", ")} | ${help} |`,
  );
  expect(rows).toEqual(expected);
});
