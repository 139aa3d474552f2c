/** All kinds of trigger, in the order of the menu. */
import type { TriggerType } from "../../../api/documents.ts";
import { cron } from "./kinds/cron/cron.tsx";
import { event } from "./kinds/event/event.tsx";
import type { TriggerKind } from "./kinds/trigger-kind.ts";
import { webhook } from "./kinds/webhook/webhook.tsx";

export const KINDS: Record<TriggerType, TriggerKind> = { cron, webhook, event };
