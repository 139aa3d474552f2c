/** Reading and revoking API keys. */
import { notFound } from "../lib/errors.ts";
import type { ApiKeyId, OrganizationId } from "../lib/ids.ts";
import { checkPage, type Page, type PageRequest } from "../lib/page.ts";
import type { ApiKey } from "./api-key.ts";
import { pageOfApiKeys, readApiKeyNames, readApiKeyRow, revokeApiKeyRow } from "./api-key-store.ts";
import type { Auth } from "./auth.ts";
import type { Caller } from "./caller.ts";

/** Newest first, including revoked ones. `after` is a key's id. */
export const listApiKeys = (auth: Auth, caller: Caller, request: PageRequest): Promise<Page<ApiKey>> =>
  pageOfApiKeys(auth.database, caller.organizationId, checkPage(request));

export const readApiKey = (auth: Auth, organizationId: OrganizationId, id: ApiKeyId): Promise<ApiKey | undefined> =>
  readApiKeyRow(auth.database, organizationId, id);

/** Revoked ones have names, too. */
export const apiKeyNames = (
  auth: Auth,
  organizationId: OrganizationId,
  ids: readonly ApiKeyId[],
): Promise<Map<ApiKeyId, string>> => readApiKeyNames(auth.database, organizationId, ids);

/**
 * The key is refused from then on in this process, and a moment later in others. Revoking it again gives the same answer.
 * Throws NOT_FOUND.
 */
export async function revokeApiKey(auth: Auth, caller: Caller, id: ApiKeyId): Promise<ApiKey> {
  const key = await revokeApiKeyRow(auth.database, caller.organizationId, id, auth.clock.now());
  if (!key) throw notFound("API key");
  auth.keys.invalidate(caller.organizationId, id);
  return key;
}
