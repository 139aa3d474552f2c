import type { OrganizationId, UserId } from "../../lib/ids.ts";
import type { Plan } from "../../storage/schema.ts";

/** A customer, the tenant: nothing that belongs to it is visible to another. */
export type Organization = {
  id: OrganizationId;
  name: string;
  plan: Plan;
  /** Agreed with the Enterprise plan. Null: no limit. */
  requestsPerMinute: number | null;
  createdAt: Date;
};

export type User = { id: UserId; name: string; email: string; createdAt: Date };

export const PLANS = ["free", "starter", "pro", "enterprise"] as const satisfies readonly Plan[];
