import { record } from "../audit/record.ts";
import { whoOf, type Acting } from "../auth/caller.ts";
import { notFound } from "../lib/errors.ts";
import type { ModelConnectionId } from "../lib/ids.ts";
import { detailOf } from "./create-connection.ts";
import type { ModelConnection } from "./model-connection.ts";
import { forgetConnections } from "./find-connection.ts";
import type { Models } from "./models.ts";
import { deleteConnectionRow } from "./store.ts";

/** Deletes for good: calls that name it fail from then on, in other processes within seconds. Throws NOT_FOUND. */
export async function deleteModelConnection(
  models: Models,
  caller: Acting,
  id: ModelConnectionId,
): Promise<ModelConnection> {
  const connection = await models.database.transaction(async (query) => {
    const deleted = await deleteConnectionRow(query, caller.organizationId, id);
    if (!deleted) throw notFound("Model connection");
    await record(query, whoOf(caller), models.clock.now(), {
      action: "model_connection_deleted",
      subject: { kind: "model_connection", id, name: deleted.name },
      detail: detailOf(deleted),
    });
    return deleted;
  }, caller.organizationId);
  forgetConnections(models, connection);
  return connection;
}
