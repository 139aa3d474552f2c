/** A call of a model that needs room in budgets. */
import type { OrganizationId } from "../lib/ids.ts";
import type { PlannedCall } from "./budgets.ts";

/** By default it needs a hundred tokens, and ends within a minute. */
export const callOf = (organizationId: OrganizationId, now: number, own: Partial<PlannedCall> = {}): PlannedCall => ({
  organizationId,
  connection: undefined,
  run: undefined,
  most: { tokens: 100, cost: 0 },
  beyondTokens: 0,
  currency: undefined,
  endsBy: now + 60_000,
  ...own,
});
