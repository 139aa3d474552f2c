import type { ModelConnectionId, OrganizationId, ProjectId } from "../lib/ids.ts";
import type { Database } from "../storage/database.ts";
import type { ModelConnection } from "./model-connection.ts";

import { readConnectionRow, readConnections } from "./store.ts";

/** Those of a project, by name: at most `LIMITS.modelConnectionsPerProject`. */
export const listModelConnections = (
  { database }: { database: Database },
  organizationId: OrganizationId,
  projectId: ProjectId,
): Promise<ModelConnection[]> => readConnections(database, organizationId, projectId);

export const readModelConnection = (
  { database }: { database: Database },
  organizationId: OrganizationId,
  id: ModelConnectionId,
): Promise<ModelConnection | undefined> =>
  readConnectionRow((text, values) => database.query(text, values, organizationId), organizationId, id);
