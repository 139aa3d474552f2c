/** The room's handle, the first parameter of each of its operations. */
import type { Clock } from "../lib/clock.ts";
import { createFreshCache, type FreshCache } from "../lib/fresh-cache.ts";
import type { Log } from "../lib/log/log.ts";
import { createSealer, type Sealer } from "../secrets/seal.ts";
import type { Database } from "../storage/database.ts";
import { loadConnections, type ProjectConnections } from "./load-connections.ts";

export type Models = {
  database: Database;
  clock: Clock;
  log: Log;
  sealer: Sealer;
  /** Those of a project with their keys, by the ids of the organization and the project. */
  known: FreshCache<string, ProjectConnections>;
};

/** A connection that another process has changed is used so after this long at the latest. */
const TTL_MS = 5_000;
/** Projects. Each has at most `LIMITS.modelConnectionsPerProject` of 5 kB. */
const KEPT = 200;

type ModelsOptions = Omit<Models, "sealer" | "known"> & { derive: (purpose: string) => Buffer };

export function createModels({ derive, ...base }: ModelsOptions): Models {
  const load = (key: string): Promise<ProjectConnections> => loadConnections(base, key);
  const known = createFreshCache({ clock: base.clock, ttlMs: TTL_MS, most: KEPT, load });
  return { ...base, sealer: createSealer(derive), known };
}
