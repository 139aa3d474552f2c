/** The room's handle, the first parameter of each of its operations. */
import type { Clock } from "../lib/clock.ts";
import { createFreshCache, type FreshCache } from "../lib/fresh-cache.ts";
import type { Log } from "../lib/log/log.ts";
import type { Database } from "../storage/database.ts";
import { loadValues } from "./read-values.ts";
import { createSealer, type Sealer } from "./seal.ts";
import type { SecretValues } from "./secret.ts";

export type Secrets = {
  database: Database;
  clock: Clock;
  log: Log;
  sealer: Sealer;
  /** Opened values, by what read-values.ts asks for. */
  values: FreshCache<string, SecretValues>;
};

/** A value that another process has set is used after this long at the latest. */
const TTL_MS = 5_000;
/** Each has at most `LIMITS.secretsPerDefinition` values: 16 MiB in all. */
const KEPT = 100;

type SecretsOptions = Omit<Secrets, "sealer" | "values"> & { derive: (purpose: string) => Buffer };

export function createSecrets({ derive, ...base }: SecretsOptions): Secrets {
  const opening = { ...base, sealer: createSealer(derive) };
  const load = (key: string): Promise<SecretValues> => loadValues(opening, key);
  return { ...opening, values: createFreshCache({ clock: base.clock, ttlMs: TTL_MS, most: KEPT, load }) };
}
