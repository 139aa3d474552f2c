/** The policy `accept`: which bodies a webhook takes besides JSON. */
import type { JsonObject } from "../../../lib/json/json.ts";
import { enumerate } from "../../../definition/text/problem.ts";
import type { Key, Problems } from "../contract/trigger-kind.ts";

export const ACCEPTED = ["json", "form"] as const;
export type Accept = (typeof ACCEPTED)[number];

export const ACCEPT_KEY: Key = {
  api: "WebhookAccept",
  description: "Which bodies the webhook takes. Default: `json`.",
};

/** The policy as it is stored. */
export function settleAccept({ accept }: JsonObject, problems: Problems): JsonObject {
  if (accept === undefined) return {};
  if (!ACCEPTED.includes(accept as Accept))
    problems.add("accept", "not_a_choice", `must be ${enumerate(ACCEPTED, "or")}`);
  return { accept };
}

export const acceptsForms = ({ accept }: JsonObject): boolean => accept === "form";
