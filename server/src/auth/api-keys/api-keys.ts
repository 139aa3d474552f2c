/** Reading and revoking API keys. */
import { record } from "../../audit/record.ts";
import { notFound } from "../../lib/errors.ts";
import type { ApiKeyId, OrganizationId } from "../../lib/ids.ts";
import { checkPage, type Page, type PageRequest } from "../../lib/page.ts";
import type { ApiKey } from "../api-key.ts";
import { pageOfApiKeys, readApiKeyNames, readApiKeyRow, revokeApiKeyRow } from "./api-key-store.ts";
import type { Auth } from "../handle/auth.ts";
import { whoOf, type Acting, type Caller } from "../caller.ts";

/** Newest first, including those that were revoked or have expired in the last 90 days. `after` is a key's id. */
export const listApiKeys = (auth: Auth, caller: Caller, request: PageRequest): Promise<Page<ApiKey>> =>
  pageOfApiKeys(auth.database, caller.organizationId, checkPage(request));

export const readApiKey = (auth: Auth, organizationId: OrganizationId, id: ApiKeyId): Promise<ApiKey | undefined> =>
  readApiKeyRow(auth.database, organizationId, id);

/** Revoked ones have names, too, also when they are deleted. */
export const apiKeyNames = (
  auth: Auth,
  organizationId: OrganizationId,
  ids: readonly ApiKeyId[],
): Promise<Map<ApiKeyId, string>> => readApiKeyNames(auth.database, organizationId, ids);

/**
 * The key is refused from then on in this process, and a moment later in others. Revoking it again gives the same answer.
 * Throws NOT_FOUND.
 */
export async function revokeApiKey(auth: Auth, caller: Acting, id: ApiKeyId): Promise<ApiKey> {
  const now = auth.clock.now();
  const key = await auth.database.transaction(async (query) => {
    const revoked = await revokeApiKeyRow(query, caller.organizationId, id, now);
    if (!revoked) throw notFound("API key");
    const subject = { kind: "api_key", id, name: revoked.key.name } as const;
    if (revoked.isFirst) await record(query, whoOf(caller), now, { action: "api_key_revoked", subject });
    return revoked.key;
  }, caller.organizationId);
  auth.keys.invalidate(caller.organizationId, id);
  return key;
}
