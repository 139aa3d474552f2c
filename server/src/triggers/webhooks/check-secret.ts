import { requireScope, type Caller } from "../../auth/caller.ts";
import { badInput } from "../../lib/errors.ts";
import { knownNames } from "../../secrets/store.ts";
import type { Database } from "../../storage/database.ts";
import type { Trigger } from "../trigger.ts";
import { signatureOf } from "./signature.ts";

/**
 * Whoever may publish agents of a project may use its secrets, and whoever may set them knows their names; nobody else names one in a
 * signature. Throws FORBIDDEN, and BAD_USER_INPUT for a secret that the project does not have.
 */
export async function checkSignatureSecret(
  database: Database,
  caller: Caller,
  { projectId, policy }: Pick<Trigger, "projectId" | "policy">,
): Promise<void> {
  const signature = signatureOf(policy);
  if (!signature) return;
  if (!caller.scopes.has("agents:write")) requireScope(caller, "secrets:write");
  const { secret } = signature;
  if ((await knownNames(database, caller.organizationId, projectId, [secret])).has(secret)) return;
  const message = "must be the name of a secret that the project has: set it first";
  throw badInput("invalid_input", `signature.secret ${message}`, [
    { path: "input.policy.signature.secret", code: "unknown", message },
  ]);
}
