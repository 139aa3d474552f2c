import type { TriggerType } from "../api/documents.ts";
import { SHAPES } from "./icon.tsx";

/** Each type of trigger, with its icon: small enough for pages that only name triggers, and for the table of addresses. */
export const TRIGGER_SHAPES: Record<TriggerType, string> = {
  cron: SHAPES.cron,
  webhook: SHAPES.webhook,
  event: SHAPES.events,
};
export const TRIGGER_TYPES = Object.keys(TRIGGER_SHAPES) as TriggerType[];
