import type { What } from "../../audit/event.ts";
import { record } from "../../audit/record.ts";
import { badInput, conflict, shortened, type Refusal } from "../../lib/errors.ts";
import { encodeId, newId, type AgentId, type ProjectId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { ApiKey } from "../api-key.ts";
import { hashApiKey, hashBytes, hintOf, makeApiKey } from "../api-key.ts";
import { insertApiKey } from "./api-key-store.ts";
import type { Auth } from "../handle/auth.ts";
import { requireScope, whoOf, type Acting, type Caller } from "../caller.ts";
import { checkReach } from "./check-reach.ts";
import { lockRights } from "../present-rights.ts";
import { nameProblem, refuseProblems, tidyName } from "../names.ts";
import { ALL_SCOPES, isScope, type Scope } from "../scopes.ts";

type NewKeyRequest = {
  name: string;
  scopes: readonly string[];
  /** Ids of the organization, each once. Without both lists the key reaches all of it. */
  projectIds?: readonly ProjectId[] | undefined;
  agentIds?: readonly AgentId[] | undefined;
  expiresAt?: Date | undefined;
};

/**
 * Creates a key of the caller's organization that may do no more than the caller: no other scopes, and no longer. Only this
 * answer has the `secret`. Throws BAD_USER_INPUT, NOT_FOUND for a project or an agent, FORBIDDEN for a scope that the caller
 * lacks, UNAUTHENTICATED or FORBIDDEN for one who was removed, revoked or demoted meanwhile, or CONFLICT when the
 * organization has `LIMITS.apiKeysPerOrganization` live keys.
 */
export async function createApiKey(
  auth: Auth,
  caller: Acting,
  request: NewKeyRequest,
): Promise<{ key: ApiKey; secret: string }> {
  const now = auth.clock.now();
  refuseProblems([nameProblem(request.name, "input.name")]);
  checkExpiry(caller, request.expiresAt, now);
  const scopes = checkedScopes(request.scopes);
  for (const scope of scopes) requireScope(caller, scope);
  await checkReach(auth.database, caller, request, scopes);
  const secret = makeApiKey();
  const { organizationId } = caller;
  const newKey = {
    id: newId<"apiKey">(),
    organizationId,
    userId: caller.user.id,
    name: tidyName(request.name),
    hint: hintOf(secret),
    secretHash: hashBytes(hashApiKey(secret)),
    scopes,
    projectIds: request.projectIds ?? null,
    agentIds: request.agentIds ?? null,
    now,
    expiresAt: request.expiresAt ?? null,
    most: LIMITS.apiKeysPerOrganization,
  };
  const key = await auth.database.transaction(async (query) => {
    const { scopes: present } = await lockRights(query, caller);
    requireScope({ ...caller, scopes: present }, "admin");
    const made = await insertApiKey(query, newKey);
    if (made) await record(query, whoOf(caller), now, eventOf(made));
    return made;
  }, organizationId);
  if (!key)
    throw conflict(
      "limit_reached",
      `an organization has at most ${LIMITS.apiKeysPerOrganization} API keys: revoke one first`,
    );
  return { key, secret };
}

const eventOf = ({ id, name, scopes, projectIds, agentIds, expiresAt }: ApiKey): What => ({
  action: "api_key_created",
  subject: { kind: "api_key", id, name },
  detail: {
    scopes: [...scopes],
    projectIds: projectIds?.map((one) => encodeId("project", one)),
    agentIds: agentIds?.map((one) => encodeId("agent", one)),
    expiresAt: expiresAt?.toISOString(),
  },
});

/** Each once. Throws BAD_USER_INPUT for an unknown scope and for none. */
function checkedScopes(scopes: readonly string[]): Scope[] {
  const known = `the scopes are ${ALL_SCOPES.join(", ")}`;
  if (scopes.length === 0)
    throw badInput("invalid_input", `name what the key may do: ${known}`, [
      { path: "input.scopes", code: "required", message: "must name at least one scope" },
    ]);
  const unknown = scopes.findIndex((scope) => !isScope(scope));
  if (unknown !== -1)
    throw badInput("invalid_input", `${shortened(scopes[unknown]!)} is not a scope: ${known}`, [
      { path: `input.scopes.${unknown}`, code: "not_a_choice", message: "is not a scope" },
    ]);
  return ALL_SCOPES.filter((scope) => scopes.includes(scope));
}

function checkExpiry({ credential }: Caller, expiresAt: Date | undefined, now: number): void {
  const refused = (code: "required" | "out_of_range", message: string): Refusal =>
    badInput("invalid_input", `expiresAt ${message}`, [{ path: "input.expiresAt", code, message }]);
  // An invalid Date compares as false, too.
  if (expiresAt !== undefined && !(expiresAt.getTime() > now)) throw refused("out_of_range", "must be in the future");
  if (credential.kind !== "key" || credential.expiresAt === undefined) return;
  const end = new Date(credential.expiresAt);
  if (expiresAt === undefined || expiresAt > end) {
    const code = expiresAt === undefined ? "required" : "out_of_range";
    throw refused(code, `must be at most ${end.toISOString()}, when the API key that creates it expires`);
  }
}
