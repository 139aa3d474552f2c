import { record } from "../audit/record.ts";
import { actorOf, whoOf, type Acting } from "../auth/caller.ts";
import { refuseProblems, tidyName } from "../auth/names.ts";
import { notFound, type FieldProblem } from "../lib/errors.ts";
import type { ModelConnectionId } from "../lib/ids.ts";
import { presentKeyId } from "../secrets/present-key.ts";
import { lockProject } from "../secrets/store.ts";
import { problemsOf } from "./check-connection.ts";
import { detailOf, nameTaken } from "./create-connection.ts";
import { KEY_HEADERS, PROVIDERS } from "../llm/connection.ts";
import type { ModelConnection } from "./model-connection.ts";
import { forgetConnections } from "./find-connection.ts";
import type { Models } from "./models.ts";
import { clearDefault, isNameTaken, lockConnection, ownerOf, readConnectionRow, updateConnection } from "./store.ts";

type Changes = Partial<
  Pick<
    ModelConnection,
    "name" | "provider" | "baseUrl" | "model" | "apiKeyHeader" | "isDefault" | "prices" | "limits"
  > & {
    /** Null takes the key away. */
    apiKey: string | null;
  }
>;

/**
 * Changes what is given, for calls that begin from then on, in other processes within seconds. Throws BAD_USER_INPUT, NOT_FOUND,
 * or CONFLICT when the project has another connection of this name.
 */
export async function updateModelConnection(
  models: Models,
  caller: Acting,
  id: ModelConnectionId,
  { apiKey, ...changes }: Changes,
): Promise<ModelConnection> {
  const { organizationId } = caller;
  const now = models.clock.now();
  const written = await models.database.transaction(async (query) => {
    const { projectId } = (await readConnectionRow(query, organizationId, id)) ?? missing();
    // Before its connections, as a creation locks them.
    await lockProject(query, organizationId, projectId);
    const former = (await lockConnection(query, organizationId, id)) ?? missing();
    const connection = { ...former, ...changes, updatedAt: new Date(now) };
    connection.model = tidyName(connection.model);
    refuseProblems([...problemsOf(connection, apiKey), keyProblem(former, connection, apiKey)]);
    if (await isNameTaken(query, connection)) throw nameTaken(connection);
    if (connection.isDefault) await clearDefault(query, connection);
    const sealedKey = apiKey && (await models.sealer.seal(apiKey, ownerOf(connection), await presentKeyId(query)));
    const changed = await updateConnection(query, { connection, sealedKey, by: actorOf(caller) });
    await record(query, whoOf(caller), now, {
      action: "model_connection_updated",
      subject: { kind: "model_connection", id, name: changed.name },
      detail: { ...detailOf(changed), isKeyChanged: apiKey !== undefined },
    });
    return changed;
  }, organizationId);
  forgetConnections(models, written);
  return written;
}

function missing(): never {
  throw notFound("Model connection");
}

/** A key that nobody can read must not be sent to an address that somebody else chose, nor in a header that its server may show or pass on. */
function keyProblem(
  former: ModelConnection,
  connection: ModelConnection,
  apiKey: string | null | undefined,
): FieldProblem | undefined {
  const isSentAlike = originOf(former) === originOf(connection) && headerOf(former) === headerOf(connection);
  if (!former.hasKey || apiKey !== undefined || isSentAlike) return undefined;
  return {
    path: "input.apiKey",
    code: "required",
    message: "is required when another server is named, or another header: give the key for it, or ask without one",
  };
}

const originOf = ({ provider, baseUrl }: ModelConnection): string | undefined =>
  URL.parse(baseUrl ?? PROVIDERS[provider] ?? "")?.origin;

/** Where no header is named, the protocol's: `Authorization` as `Bearer` is not `Authorization` alone. */
const headerOf = ({ apiKeyHeader, provider }: ModelConnection): string =>
  apiKeyHeader?.toLowerCase() ?? `${KEY_HEADERS[provider]} of the protocol`;
