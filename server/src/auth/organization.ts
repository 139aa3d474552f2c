import type { OrganizationId, UserId } from "../lib/ids.ts";
import type { Row } from "../storage/database.ts";
import type { Plan } from "../storage/schema.ts";

/** A customer, the tenant: nothing that belongs to it is visible to another. */
export type Organization = {
  id: OrganizationId;
  name: string;
  plan: Plan;
  /** Agreed with the Enterprise plan. Null: no limit. */
  requestsPerMinute: number | null;
  /** Tokens of language models, likewise. */
  modelTokensPerDay: number | null;
  createdAt: Date;
};

/** Reads a row of `organizations o`. */
export const COLUMNS = "o.id, o.name, o.plan, o.requests_per_minute, o.model_tokens_per_day, o.created_at";
export const organizationOf = (row: Row): Organization => ({
  id: row.id,
  name: row.name,
  plan: row.plan,
  requestsPerMinute: row.requests_per_minute,
  modelTokensPerDay: row.model_tokens_per_day,
  createdAt: row.created_at,
});

export type User = { id: UserId; name: string; email: string; createdAt: Date };

export const PLANS = ["free", "starter", "pro", "enterprise"] as const satisfies readonly Plan[];
