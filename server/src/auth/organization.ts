import type { OrganizationId, UserId } from "../lib/ids.ts";
import type { Plan } from "../storage/schema.ts";

/** A customer, the tenant: nothing of it is visible to another. */
export type Organization = {
  id: OrganizationId;
  name: string;
  plan: Plan;
  /** Of the Enterprise plan, as agreed; null: without limit. */
  requestsPerMinute: number | null;
  createdAt: Date;
};

export type User = { id: UserId; name: string; email: string; createdAt: Date };

export const PLANS = ["free", "starter", "pro", "enterprise"] as const satisfies readonly Plan[];
