/** The connection that a call is made over. */
import type { FreshCache } from "../lib/fresh-cache.ts";
import type { ModelConnectionId, OrganizationId, ProjectId } from "../lib/ids.ts";
import type { Log } from "../lib/log/log.ts";
import { PROVIDERS, type Connection } from "../llm/connection.ts";
import type { Sealer } from "../secrets/seal.ts";
import type { Database } from "../storage/database.ts";
import { readModelConnection } from "./list-connections.ts";
import type { ModelConnection } from "./model-connection.ts";
import { readConnections, readSealedKeys } from "./store.ts";

export type ProjectConnections = { byName: ReadonlyMap<string, Connection>; default: Connection | undefined };

type Known = { known: FreshCache<string, ProjectConnections> };
type Project = Pick<ModelConnection, "organizationId" | "projectId">;

/** The project's connection of this name; without one, its default. */
export async function findConnection(
  { known }: Known,
  project: Project,
  name?: string,
): Promise<Connection | undefined> {
  const connections = await known.get(keyOf(project));
  return name === undefined ? connections?.default : connections?.byName.get(name);
}

/**
 * The connection that a call of an agent is made over: the project's of this name; without a name its default, else the server's
 * own, which can also be named.
 */
export const connectionsOf =
  (models: Known, { own }: { own: Connection | undefined }) =>
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
  models: Known & { database: Database },
  organizationId: OrganizationId,
  id: ModelConnectionId,
): Promise<Connection | undefined> {
  const found = await readModelConnection(models, organizationId, id);
  return found && findConnection(models, found, found.name);
}

/** After a change: calls that begin from then on see it. */
export const forgetConnections = ({ known }: Known, project: Project): void => known.forget(keyOf(project));

const keyOf = ({ organizationId, projectId }: Project): string => `${organizationId} ${projectId}`;

export async function loadConnections(
  { database, log, sealer }: { database: Database; log: Log; sealer: Sealer },
  key: string,
): Promise<ProjectConnections> {
  const [organizationId, projectId] = key.split(" ") as [OrganizationId, ProjectId];
  const [connections, sealed] = await Promise.all([
    readConnections(database, organizationId, projectId),
    readSealedKeys(database, organizationId, projectId),
  ]);
  const keys = new Map(
    await Promise.all(sealed.map(async (row) => [row.id, await sealer.open(row.sealed, row)] as const)),
  );
  const byName = new Map<string, Connection>();
  let chosen: Connection | undefined;
  for (const connection of connections) {
    const { id, name, hasKey, isDefault } = connection;
    const apiKey = keys.get(id);
    if (hasKey && apiKey === undefined) {
      // Not the caller's mistake: the row was changed by hand, or belongs to another installation.
      log.error(
        { organizationId, projectId, connection: name },
        "the key of a model connection does not open with this server's key",
      );
      continue;
    }
    const { provider, model, prices, limits } = connection;
    const baseUrl = connection.baseUrl ?? PROVIDERS[provider]!;
    byName.set(name, { id, name, provider, baseUrl, model, apiKey, prices, limits });
    if (isDefault) chosen = byName.get(name);
  }
  return { byName, default: chosen };
}
