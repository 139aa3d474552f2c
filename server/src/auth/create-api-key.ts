import { badInput, conflict } from "../lib/errors.ts";
import { newId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { ApiKey } from "./api-key.ts";
import { hashApiKey, hashBytes, hintOf, makeApiKey } from "./api-key.ts";
import { insertApiKey } from "./api-key-store.ts";
import type { Auth } from "./auth.ts";
import type { Caller } from "./caller.ts";
import { nameProblem, refuseProblems, tidyName } from "./names.ts";
import { ALL_SCOPES } from "./scopes.ts";

export type NewKeyRequest = { name: string; expiresAt?: Date | undefined };

/**
 * A key of the caller's organization with all scopes. `secret` is in this answer only. Throws BAD_USER_INPUT, or
 * CONFLICT when the organization has `LIMITS.apiKeysPerOrganization` live keys.
 */
export async function createApiKey(
  auth: Auth,
  caller: Caller,
  request: NewKeyRequest,
): Promise<{ key: ApiKey; secret: string }> {
  const now = auth.clock.now();
  refuseProblems([nameProblem(request.name, "input.name")]);
  checkExpiry(request.expiresAt, now);
  const secret = makeApiKey();
  const key = await insertApiKey(auth.database, {
    id: newId(),
    organizationId: caller.organizationId,
    userId: caller.user.id,
    name: tidyName(request.name),
    hint: hintOf(secret),
    secretHash: hashBytes(hashApiKey(secret)),
    scopes: ALL_SCOPES,
    now,
    expiresAt: request.expiresAt ?? null,
    most: LIMITS.apiKeysPerOrganization,
  });
  if (!key) throw conflict(`an organization has at most ${LIMITS.apiKeysPerOrganization} API keys: revoke one first`);
  return { key, secret };
}

function checkExpiry(expiresAt: Date | undefined, now: number): void {
  // An invalid Date compares as false, too.
  if (expiresAt === undefined || expiresAt.getTime() > now) return;
  throw badInput("expiresAt must be in the future", [
    { path: "input.expiresAt", code: "out_of_range", message: "must be in the future" },
  ]);
}
