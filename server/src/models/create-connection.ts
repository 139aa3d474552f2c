import { record } from "../audit/record.ts";
import { actorOf, whoOf, type Acting } from "../auth/caller.ts";
import { refuseProblems, tidyName } from "../auth/names.ts";
import { conflict, notFound } from "../lib/errors.ts";
import { encodeId, newId, type ProjectId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { presentKeyId } from "../secrets/present-key.ts";
import { lockProject } from "../secrets/store.ts";
import { problemsOf } from "./check-connection.ts";
import type { ModelConnection } from "./model-connection.ts";
import { forgetConnections } from "./find-connection.ts";
import type { Models } from "./models.ts";
import { clearDefault, countConnections, insertConnection, ownerOf } from "./store.ts";

type CreateRequest = Pick<
  ModelConnection,
  "name" | "provider" | "baseUrl" | "model" | "apiKeyHeader" | "isDefault" | "prices" | "limits"
> & {
  projectId: ProjectId;
  apiKey: string | null;
};

/**
 * The project's former default is none any longer if this one is. Throws BAD_USER_INPUT, NOT_FOUND for the project, or CONFLICT
 * when it has a connection of this name or `LIMITS.modelConnectionsPerProject` of them.
 */
export async function createModelConnection(
  models: Models,
  caller: Acting,
  { apiKey, ...request }: CreateRequest,
): Promise<ModelConnection> {
  const now = models.clock.now();
  const connection: ModelConnection = {
    ...request,
    id: newId(),
    organizationId: caller.organizationId,
    model: tidyName(request.model),
    hasKey: apiKey !== null,
    updatedAt: new Date(now),
  };
  refuseProblems(problemsOf(connection, apiKey));
  const written = await models.database.transaction(async (query) => {
    if (!(await lockProject(query, caller.organizationId, request.projectId))) throw notFound("Project");
    if ((await countConnections(query, connection)) >= LIMITS.modelConnectionsPerProject)
      throw conflict(
        "limit_reached",
        `a project has at most ${LIMITS.modelConnectionsPerProject} model connections: delete one first`,
      );
    if (connection.isDefault) await clearDefault(query, connection);
    const sealedKey = apiKey && (await models.sealer.seal(apiKey, ownerOf(connection), await presentKeyId(query)));
    const made = await insertConnection(query, { connection, sealedKey, by: actorOf(caller) });
    if (!made) throw nameTaken(connection);
    await record(query, whoOf(caller), now, {
      action: "model_connection_created",
      subject: { kind: "model_connection", id: made.id, name: made.name },
      detail: detailOf(made),
    });
    return made;
  }, caller.organizationId);
  forgetConnections(models, written);
  return written;
}

export const nameTaken = ({ name }: ModelConnection) =>
  conflict("name_taken", `the project already has a model connection named ${name}`);

/** The detail in the audit: where the questions go. */
export const detailOf = ({ projectId, provider, baseUrl, model, apiKeyHeader }: ModelConnection) => ({
  projectId: encodeId("project", projectId),
  provider,
  baseUrl,
  model,
  apiKeyHeader,
});
