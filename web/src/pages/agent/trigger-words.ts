/** What a trigger waits for, as a sentence. */
import cronstrue from "cronstrue";
import type { TriggerPartFragment, TriggerType } from "../../api/documents.ts";
import { SHAPES } from "../../components/icon.tsx";
import { isObject, type Json } from "../../lib/json.ts";

export const TYPES: Record<TriggerType, { word: string; shape: string }> = {
  cron: { word: "On a schedule", shape: SHAPES.cron },
  webhook: { word: "When a URL is called", shape: SHAPES.webhook },
  event: { word: "On an event", shape: SHAPES.events },
};

type Told = Pick<TriggerPartFragment, "type" | "schedule" | "timezone" | "source" | "event"> & { filter: Json };

export function sentenceOf({ type, schedule, timezone, source, event, filter }: Told): string {
  if (type === "cron") return `${cronWords(schedule!)}, ${timezone}`;
  if (type === "webhook") return "When its URL is called";
  const conditions = isObject(filter) ? Object.entries(filter).map(([field, values]) => condition(field, values)) : [];
  const said = `When ${source} says ${event}`;
  return conditions.length > 0 ? `${said}, if ${conditions.join(" and ")}` : said;
}

export function cronWords(schedule: string): string {
  try {
    return cronstrue.toString(schedule, { use24HourTimeFormat: true });
  } catch {
    return schedule;
  }
}

const condition = (field: string, values: Json): string =>
  `${field} is ${(Array.isArray(values) ? values : [values]).map((value: Json) => (typeof value === "string" ? value : JSON.stringify(value))).join(" or ")}`;
