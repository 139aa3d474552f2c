/** Figures as prom-client's samples. */
import { Histogram } from "../lib/figures.ts";
import type { Figure, Metric } from "./table.ts";

type Labels = Record<string, string | number>;
export type Sample = { metricName?: string; labels: Labels; value: number };

/** An unknown figure has no sample. */
export function samplesOf({ name, labels: names }: Pick<Metric, "name" | "labels">, figure: Figure): Sample[] {
  const samples: Sample[] = [];
  const walk = (at: Figure, labels: Labels, depth: number): void => {
    if (at === undefined) return;
    if (typeof at === "number") return void samples.push({ labels, value: at });
    if (at instanceof Histogram) return void samples.push(...buckets(name, at, labels));
    for (const [value, below] of Object.entries(at)) walk(below, { ...labels, [names[depth]!]: value }, depth + 1);
  };
  walk(figure, {}, 0);
  return samples;
}

/** Each bucket counts those before it too. */
function buckets(name: string, { bounds, counts, sum }: Histogram, labels: Labels): Sample[] {
  let count = 0;
  const samples: Sample[] = counts.map((own, index) => ({
    metricName: `${name}_bucket`,
    labels: { ...labels, le: bounds[index] ?? "+Inf" },
    value: (count += own),
  }));
  return [
    ...samples,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
