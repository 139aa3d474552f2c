/** The DSL's durations: an ISO 8601 text (`PT1M30S`, weeks and smaller) or an object `{days, hours, …, milliseconds}`. */
import type { Json } from "../../lib/json/json.ts";
import { isObject } from "../../lib/json/json.ts";

const UNIT_MS = { days: 86_400_000, hours: 3_600_000, minutes: 60_000, seconds: 1_000, milliseconds: 1 } as const;
const ISO =
  /^P(?:(\d+(?:\.\d+)?)W)?(?:(\d+(?:\.\d+)?)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?$/;

/** The span in ms; undefined if it is not a duration. Refuses years and months: they have no fixed length. */
export function durationMs(value: Json): number | undefined {
  if (typeof value === "string") {
    const match = ISO.exec(value);
    if (!match || value.endsWith("P") || value.endsWith("T")) return undefined;
    const part = (at: number): number => Number(match[at] ?? 0);
    return Math.round(
      (part(1) * 7 + part(2)) * UNIT_MS.days + part(3) * UNIT_MS.hours + part(4) * UNIT_MS.minutes + part(5) * 1000,
    );
  }
  if (!isObject(value)) return undefined;
  let total = 0;
  const entries = Object.entries(value);
  for (const [unit, amount] of entries) {
    if (!Object.hasOwn(UNIT_MS, unit) || typeof amount !== "number" || !(amount >= 0)) return undefined;
    total += amount * UNIT_MS[unit as keyof typeof UNIT_MS];
  }
  return entries.length === 0 ? undefined : Math.round(total);
}
