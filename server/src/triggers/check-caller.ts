/** The parts of a trigger that a caller may set. */
import { needsWhole, requireScope, type Caller } from "../auth/caller.ts";
import { badInput } from "../lib/errors.ts";
import type { JsonObject } from "../lib/json/json.ts";
import type { Within } from "../lib/reach.ts";
import type { Trigger } from "./store/trigger.ts";
import { OWN_SOURCE } from "../events/own-source.ts";
import { isSigned } from "./kinds/webhook/signature.ts";

/**
 * Events belong to the organization, and a trigger shows its project all that it fires on. So a narrowed key makes none on them: throws
 * FORBIDDEN. The service's own events tell of all agents of a project: throws BAD_USER_INPUT for a key that does not reach
 * the whole project.
 */
export function checkSource(
  { reach }: Within,
  { type, projectId, configuration }: Pick<Trigger, "type" | "projectId" | "configuration">,
): void {
  if (type !== "event" || !reach) return;
  if (configuration["source"] !== OWN_SOURCE) throw needsWhole("a trigger on events");
  if (reach.projectIds.includes(projectId)) return;
  const message = `must not be ${OWN_SOURCE}: its events tell of all agents of the project, which this API key does not reach`;
  throw badInput("invalid_input", `source ${message}`, [
    { path: "input.trigger.source", code: "not_a_choice", message },
  ]);
}

/**
 * Only a caller who may publish the project's agents, and so use its secrets, or who may set its secrets may name one in a
 * signature. Throws FORBIDDEN.
 */
export function checkMaySign(caller: Caller, policy: JsonObject): void {
  if (isSigned(policy) && !caller.scopes.has("agents:write")) requireScope(caller, "secrets:write");
}
