/** Reading and revoking API keys. */
import { notFound } from "../lib/errors.ts";
import type { ApiKeyId, OrganizationId } from "../lib/ids.ts";
import { checkPage, type Page, type PageRequest } from "../lib/page.ts";
import type { ApiKey } from "./api-key.ts";
import { pageOfApiKeys, readApiKeyRow, revokeApiKeyRow } from "./api-key-store.ts";
import type { Auth } from "./auth.ts";
import type { Caller } from "./caller.ts";

/** Revoked ones too, newest first. `after` is a key's id. */
export const listApiKeys = (auth: Auth, caller: Caller, request: PageRequest): Promise<Page<ApiKey>> =>
  pageOfApiKeys(auth.database, caller.organizationId, checkPage(request));

export const readApiKey = (auth: Auth, organizationId: OrganizationId, id: ApiKeyId): Promise<ApiKey | undefined> =>
  readApiKeyRow(auth.database, organizationId, id);

/** Refused from the answer on in this process, a moment later in others. Again: the same answer. Throws NOT_FOUND. */
export async function revokeApiKey(auth: Auth, caller: Caller, id: ApiKeyId): Promise<ApiKey> {
  const key = await revokeApiKeyRow(auth.database, caller.organizationId, id, auth.clock.now());
  if (!key) throw notFound("API key");
  auth.keys.invalidate(caller.organizationId, id);
  return key;
}
