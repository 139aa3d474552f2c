import type { OrganizationId } from "../lib/ids.ts";
import type { JsonObject } from "../lib/json/json.ts";
import { GIVEN_AT } from "./kinds.ts";
import { doesNotCompile } from "./mapping.ts";
import { refuseAny } from "./trigger-kind.ts";
import type { Triggers } from "./triggers.ts";

/** Whether jq compiles the mapping of a policy, which was checked but for that. Throws BAD_USER_INPUT, UNAVAILABLE. */
export async function checkMapping(
  { runs }: Triggers,
  organizationId: OrganizationId,
  { mapping }: JsonObject,
): Promise<void> {
  if (mapping === undefined) return;
  const problem = await runs.executions.expressions.check(mapping as string, organizationId);
  if (problem)
    refuseAny([{ path: `${GIVEN_AT.policy}.mapping`, code: "invalid", message: doesNotCompile(problem.message) }]);
}
