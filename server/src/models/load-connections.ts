/** The connections of a project as they are kept in memory. */
import type { OrganizationId, ProjectId } from "../lib/ids.ts";
import type { Connection } from "../llm/connection.ts";
import type { Database } from "../storage/database.ts";
import type { ModelConnection } from "./model-connection.ts";
import { readWithKeys } from "./store.ts";

/** A connection with its key, which is opened when it is first needed: all 50 of a project take 6 ms. */
export type Known = { connection: ModelConnection; sealedKey: string | null; opened?: Promise<Connection | undefined> };
export type ProjectConnections = { byName: ReadonlyMap<string, Known>; default: Known | undefined };

/** `key`: the ids of the organization and the project. */
export async function loadConnections({ database }: { database: Database }, key: string): Promise<ProjectConnections> {
  const [organizationId, projectId] = key.split(" ") as [OrganizationId, ProjectId];
  const found = await readWithKeys(database, organizationId, projectId);
  const byName = new Map<string, Known>(found.map((known) => [known.connection.name, known]));
  return { byName, default: found.find(({ connection }) => connection.isDefault) };
}
