/** The connection that a call is made over. */
import type { ModelConnectionId, OrganizationId, ProjectId } from "../lib/ids.ts";
import { PROVIDERS, type Connection } from "../llm/connection.ts";
import type { Database } from "../storage/database.ts";
import { readModelConnection } from "./list-connections.ts";
import type { ModelConnection } from "./model-connection.ts";
import type { Known } from "./load-connections.ts";
import type { Models } from "./models.ts";
import { ownerOf, readConnections } from "./store.ts";

type Finding = Pick<Models, "known" | "log" | "sealer">;
type Project = Pick<ModelConnection, "organizationId" | "projectId">;

/** The project's connection of this name; without one, its default. */
export async function findConnection(
  models: Finding,
  project: Project,
  name?: string,
): Promise<Connection | undefined> {
  const connections = await models.known.get(keyOf(project));
  const found = name === undefined ? connections?.default : connections?.byName.get(name);
  return found && (found.opened ??= open(models, found));
}

async function open({ log, sealer }: Finding, { connection, sealedKey }: Known): Promise<Connection | undefined> {
  const { id, organizationId, projectId, name, provider, model, apiKeyHeader, prices, limits } = connection;
  const apiKey = sealedKey === null ? undefined : await sealer.open(sealedKey, ownerOf(connection));
  if (sealedKey !== null && apiKey === undefined) {
    // Not the caller's mistake: the row was changed by hand, or belongs to another installation.
    log.error(
      { organizationId, projectId, connection: name },
      "the key of a model connection does not open with this server's key",
    );
    return undefined;
  }
  const baseUrl = connection.baseUrl ?? PROVIDERS[provider]!;
  return { id, name, provider, baseUrl, model, apiKey, apiKeyHeader, prices, limits };
}

/**
 * The connection that a call of an agent is made over: the project's of this name; without a name its default, else the server's
 * own, which can also be named.
 */
export const connectionsOf =
  (models: Finding, { own }: { own: Connection | undefined }) =>
  async (organizationId: OrganizationId, projectId: ProjectId, name?: string): Promise<Connection | undefined> => {
    const found = await findConnection(models, { organizationId, projectId }, name);
    return found ?? (name === undefined || name === own?.name ? own : undefined);
  };

/** The names that `connectionsOf` finds, as they are in the database now. */
export const namesOfConnections =
  ({ database }: { database: Database }, { own }: { own: Connection | undefined }) =>
  async (organizationId: OrganizationId, projectId: ProjectId): Promise<ReadonlySet<string>> => {
    const connections = await readConnections(database, organizationId, projectId);
    return new Set([...connections.map(({ name }) => name), ...(own ? [own.name] : [])]);
  };

/** The connection of this id as it is now, with its key. */
export async function readConnection(
  models: Finding & { database: Database },
  organizationId: OrganizationId,
  id: ModelConnectionId,
): Promise<Connection | undefined> {
  const found = await readModelConnection(models, organizationId, id);
  return found && findConnection(models, found, found.name);
}

/** After a change: calls that begin from then on see it. */
export const forgetConnections = ({ known }: Pick<Models, "known">, project: Project): void =>
  known.forget(keyOf(project));

const keyOf = ({ organizationId, projectId }: Project): string => `${organizationId} ${projectId}`;
