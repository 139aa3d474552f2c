import { requireScope, type Caller } from "../../auth/caller.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { isSigned } from "./signature.ts";

/**
 * Whoever may publish agents of a project may use its secrets, and whoever may set them knows their names; nobody else names one in a
 * signature. Throws FORBIDDEN.
 */
export function checkMaySign(caller: Caller, policy: JsonObject): void {
  if (isSigned(policy) && !caller.scopes.has("agents:write")) requireScope(caller, "secrets:write");
}
