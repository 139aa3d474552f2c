/** All kinds of trigger. The menu has the order of `TRIGGER_SHAPES`. */
import type { TriggerType } from "../../../api/documents.ts";
import { cron } from "./kinds/cron/cron.tsx";
import { event } from "./kinds/event/event.tsx";
import type { TriggerKind } from "./kinds/trigger-kind.ts";
import { webhook } from "./kinds/webhook/webhook.tsx";

export const KINDS: Record<TriggerType, TriggerKind> = { cron, webhook, event };
