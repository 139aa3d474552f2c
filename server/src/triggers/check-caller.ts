/** The parts of a trigger that a caller may set. */
import { requireScope, type Caller } from "../auth/caller.ts";
import type { JsonObject } from "../lib/json/json.ts";
import type { Within } from "../lib/reach.ts";
import type { Trigger } from "./store/trigger.ts";
import { kindOf } from "./kinds/kinds.ts";
import { isSigned } from "./kinds/webhook/signature.ts";

/** Throws if the caller is a narrowed key that reaches less than such a trigger fires on (`TriggerKind.checkNarrowed`). */
export function checkNarrowed(
  { reach }: Within,
  { type, projectId, configuration }: Pick<Trigger, "type" | "projectId" | "configuration">,
): void {
  if (reach) kindOf(type).checkNarrowed?.(reach, projectId, configuration);
}

/**
 * Only a caller who may publish the project's agents, and so use its secrets, or who may set its secrets may name one in a
 * signature. Throws FORBIDDEN.
 */
export function checkMaySign(caller: Caller, policy: JsonObject): void {
  if (isSigned(policy) && !caller.scopes.has("agents:write")) requireScope(caller, "secrets:write");
}
