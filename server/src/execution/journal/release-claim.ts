import type { Database } from "../../storage/database.ts";
import { partitionOf } from "../../storage/partitions.ts";
import { AT_ONCE_SQL } from "../run/due.ts";
import type { Head } from "./loaded-run.ts";

/** Releases a claim for which there is no memory; the run is due at once. */
export async function releaseClaim(
  database: Database,
  { id, organizationId, epoch }: Pick<Head, "id" | "organizationId" | "epoch">,
): Promise<void> {
  await database.query(
    `update runs_${partitionOf(database, id)} set owner = null, wake_at = ${AT_ONCE_SQL}
      where id = $1 and organization_id = $2 and epoch = $3`,
    [id, organizationId, epoch],
    organizationId,
  );
}
