/** The plans. What a plan allows stands here and nowhere else. */
import { LIMITS } from "../lib/limits.ts";
import type { Plan } from "../storage/schema.ts";

/** Requests of an organization in any 60 seconds; null: as agreed, and without an agreement no limit. */
export const REQUESTS_PER_MINUTE = {
  free: 10,
  starter: 100,
  pro: 1_000,
  enterprise: null,
} as const satisfies Record<Plan, number | null>;

/** Tokens of language models that an organization may use a day (UTC); null: as agreed, and without an agreement no limit. */
export const MODEL_TOKENS_PER_DAY = {
  free: 1_000_000,
  starter: 10_000_000,
  pro: 100_000_000,
  enterprise: null,
} as const satisfies Record<Plan, number | null>;

/** Recipients that an organization's mails may have a day (UTC). */
export const MAIL_RECIPIENTS_PER_DAY = {
  free: 50,
  starter: 500,
  pro: 5_000,
  enterprise: LIMITS.mailRecipientsPerDay,
} as const satisfies Record<Plan, number>;

/** Null: no limit. `agreed` counts where the plan leaves it open. */
export const limitOf = (plan: Plan, agreed: number | null): number | null => REQUESTS_PER_MINUTE[plan] ?? agreed;

/** Likewise. */
export const modelTokensOf = (plan: Plan, agreed: number | null): number | null => MODEL_TOKENS_PER_DAY[plan] ?? agreed;
