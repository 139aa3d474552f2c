/** The values of secrets, for the call that uses them. They are kept for seconds, in memory only. */
import type { FreshCache } from "../lib/fresh-cache.ts";
import type { OrganizationId, ProjectId } from "../lib/ids.ts";
import type { Log } from "../lib/log/log.ts";
import type { Database } from "../storage/database.ts";
import type { Sealer } from "./seal.ts";
import type { Secret, SecretValues } from "./secret.ts";
import { readSealed } from "./store.ts";

/** Only of this project. */
export async function readValues(
  secrets: { values: FreshCache<string, SecretValues> },
  organizationId: OrganizationId,
  projectId: ProjectId,
  names: readonly string[],
): Promise<SecretValues> {
  if (names.length === 0) return NONE;
  return (await secrets.values.get([organizationId, projectId, ...names].join(" "))) ?? NONE;
}

/** Only calls of the secret's project wait: others go on without the database. */
export const forgetValues = (
  { values }: { values: FreshCache<string, SecretValues> },
  { organizationId, projectId }: Pick<Secret, "organizationId" | "projectId">,
): void => values.forgetEach((key) => key.startsWith(`${organizationId} ${projectId} `));

const NONE: SecretValues = new Map();

/** `key`: the ids of the organization and the project, and the names. */
export async function loadValues(
  { database, log, sealer }: { database: Database; log: Log; sealer: Sealer },
  key: string,
): Promise<SecretValues> {
  const [organizationId, projectId, ...names] = key.split(" ") as [OrganizationId, ProjectId, ...string[]];
  const rows = await readSealed(database, organizationId, projectId, names);
  const values = new Map<string, string>();
  for (const { name, sealed } of rows) {
    const value = await sealer.open(sealed, { organizationId, projectId, name });
    if (value !== undefined) values.set(name, value);
    // Not the caller's mistake: the row was changed by hand, or belongs to another installation.
    else log.error({ organizationId, projectId, secretName: name }, "a secret does not open with this server's key");
  }
  return values;
}
