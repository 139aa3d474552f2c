/** A call of a model that needs room in budgets. */
import type { OrganizationId } from "../lib/ids.ts";
import type { PlannedCall } from "./budgets.ts";

/** Of a hundred tokens within a minute, by default. */
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
