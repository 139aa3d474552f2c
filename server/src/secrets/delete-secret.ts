import { record } from "../audit/record.ts";
import { whoOf, type Acting } from "../auth/caller.ts";
import { notFound } from "../lib/errors.ts";
import { encodeId, type SecretId } from "../lib/ids.ts";
import type { Secret } from "./secret.ts";
import type { Secrets } from "./secrets.ts";
import { forgetValues } from "./read-values.ts";
import { deleteSecretRow } from "./store.ts";

/** For good: calls that need it fail from then on, in other processes within seconds. Throws NOT_FOUND. */
export async function deleteSecret(secrets: Secrets, caller: Acting, id: SecretId): Promise<Secret> {
  const secret = await secrets.database.transaction(async (query) => {
    const deleted = await deleteSecretRow(query, caller.organizationId, id);
    if (!deleted) throw notFound("Secret");
    await record(query, whoOf(caller), secrets.clock.now(), {
      action: "secret_deleted",
      subject: { kind: "secret", id, name: deleted.name },
      detail: { projectId: encodeId("project", deleted.projectId) },
    });
    return deleted;
  }, caller.organizationId);
  forgetValues(secrets, secret);
  return secret;
}
