/**
 * Takes runs for this process in one fenced statement: the claim raises `epoch`, every later write names it, and only
 * the database's executor may claim. Claims from one tick share one statement per month. A claimed run is `running`,
 * whether it was `pending` or `paused`: its next commit may then end it.
 */
import type { OrganizationId, RunId } from "../lib/ids.ts";
import { Batch } from "../storage/batch.ts";
import type { Row } from "../storage/database.ts";
import { partitionOf } from "../storage/partitions.ts";
import type { SqlEngineOptions } from "./sql-engine.ts";

type Wanted = { id: RunId; organizationId: OrganizationId };

export type Claims<Claimed> = { add(run: Wanted): Promise<Claimed | undefined> };

type ClaimsOptions<Claimed> = Pick<SqlEngineOptions<Claimed>, "database" | "clock" | "instanceId" | "claimed">;

export const createClaims = <Claimed>(options: ClaimsOptions<Claimed>): Claims<Claimed> =>
  new Batch<Wanted, Claimed | undefined>({
    id: ({ id }) => id,
    organizationId: ({ organizationId }) => organizationId,
    bytes: () => 4_000,
    write: (wanted) => claimAll(options, wanted),
  });

async function claimAll<Claimed>(options: ClaimsOptions<Claimed>, wanted: Wanted[]): Promise<(Claimed | undefined)[]> {
  const { database, clock } = options;
  const claimed = new Map<RunId, Claimed>();
  for (const [month, group] of Map.groupBy(wanted, ({ id }) => partitionOf(database, id))) {
    const ids = group.map(({ id }) => id);
    const rows = await claimRows(options, month, clock.now(), ids);
    for (const row of rows) claimed.set(row["id"] as RunId, options.claimed.of(row));
  }
  return wanted.map(({ id }) => claimed.get(id));
}

const claimRows = (
  { database, instanceId, claimed: { columns } }: ClaimsOptions<unknown>,
  month: string,
  now: number,
  ids: RunId[],
): Promise<Row[]> =>
  database.hot(
    `claim_${month}`,
    `update runs_${month} set epoch = epoch + 1, owner = $1, wake_at = null, status = 'running',
        revision = revision + (status <> 'running')::int,
        started_at = coalesce(started_at, to_timestamp($3::float8 / 1000.0))
      where id = any ($2::uuid[]) and status in ('pending', 'running', 'paused')
        and (owner is not null or wake_at <= to_timestamp($3::float8 / 1000.0))
        and exists (select 1 from executor where instance_id = $1)
      returning ${["id", ...columns.filter((name) => name !== "id")].join(", ")}`,
    [instanceId, ids, now],
  );
