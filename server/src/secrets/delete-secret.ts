import type { Caller } from "../auth/caller.ts";
import { notFound } from "../lib/errors.ts";
import type { SecretId } from "../lib/ids.ts";
import type { Secret } from "./secret.ts";
import type { Secrets } from "./secrets.ts";
import { forgetValues } from "./read-values.ts";
import { deleteSecretRow } from "./store.ts";

/** For good: calls that need it fail from then on, in other processes within seconds. Throws NOT_FOUND. */
export async function deleteSecret(secrets: Secrets, caller: Caller, id: SecretId): Promise<Secret> {
  const secret = await deleteSecretRow(secrets.database, caller.organizationId, id);
  if (!secret) throw notFound("Secret");
  forgetValues(secrets, secret);
  return secret;
}
