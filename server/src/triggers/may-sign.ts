import { requireScope, type Caller } from "../auth/caller.ts";
import type { JsonObject } from "../lib/json/json.ts";
import { isSigned } from "./kinds/webhook/signature.ts";

/**
 * Only a caller who may publish the project's agents, and so use its secrets, or who may set its secrets may name one in a
 * signature. Throws FORBIDDEN.
 */
export function checkMaySign(caller: Caller, policy: JsonObject): void {
  if (isSigned(policy) && !caller.scopes.has("agents:write")) requireScope(caller, "secrets:write");
}
