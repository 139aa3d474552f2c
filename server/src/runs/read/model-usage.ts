/** The use of models by a step, and for a run with all runs that it started. */
import type { OrganizationId, RunId, StepId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { CHILD_COLUMN } from "../../execution/journal/read-rows.ts";
import type { Row } from "../../storage/database.ts";
import { partitionOf } from "../../storage/partitions.ts";
import type { Runs } from "../handle/runs.ts";

export type ModelUsage = {
  inputTokens: number;
  outputTokens: number;
  /** Among the input tokens. */
  cachedInputTokens: number;
  /** Null: a call had no price, or there are two currencies. */
  cost: number | null;
  currency: string | null;
};

/** The maximum of the API's Int. */
const MAX_INT = 2 ** 31 - 1;

const SUMS = `least(sum(input_tokens), ${MAX_INT})::int as input_tokens, least(sum(output_tokens), ${MAX_INT})::int as output_tokens,
  least(sum(cached_input_tokens), ${MAX_INT})::int as cached_input_tokens, sum(cost)::float8 as cost, min(currency) as currency,
  bool_and(cost is not null) and min(currency) = max(currency) as is_priced`;

const usageOf = (row: Row): ModelUsage => ({
  inputTokens: row["input_tokens"],
  outputTokens: row["output_tokens"],
  cachedInputTokens: row["cached_input_tokens"],
  cost: row["is_priced"] ? row["cost"] : null,
  currency: row["is_priced"] ? row["currency"] : null,
});

/** In the order of `steps`; null for one that asked no model. */
export async function usageOfSteps(
  { database }: Pick<Runs, "database">,
  organizationId: OrganizationId,
  steps: readonly StepId[],
): Promise<(ModelUsage | null)[]> {
  const rows = await database.query(
    `select c.run_id, c.step_number, ${SUMS}
       from unnest($2::uuid[], $3::int[]) as wanted (run_id, number)
       join model_calls c on c.run_id = wanted.run_id and c.step_number = wanted.number
      where c.organization_id = $1 group by c.run_id, c.step_number`,
    [organizationId, steps.map(({ runId }) => runId), steps.map(({ number }) => number)],
    organizationId,
  );
  const found = new Map(rows.map((row) => [`${row["run_id"]} ${row["step_number"]}`, usageOf(row)]));
  return steps.map(({ runId, number }) => found.get(`${runId} ${number}`) ?? null);
}

/**
 * In the order of `steps`, each with the steps inside it and the runs that these started, at most `LIMITS.runUsageRuns` runs for all steps of
 * a run. Null for one where none asked a model. One statement for each run, which goes through its steps once.
 */
export async function totalUsageOfSteps(
  { database }: Pick<Runs, "database">,
  organizationId: OrganizationId,
  steps: readonly StepId[],
): Promise<(ModelUsage | null)[]> {
  const found = new Map<string, ModelUsage>();
  for (const [runId, wanted] of Map.groupBy(steps, (step) => step.runId)) {
    const numbers = wanted.map(({ number }) => number);
    const rows = await database.query(
      `with recursive later as materialized (
         select number, parent_number, ${CHILD_COLUMN} from steps_${partitionOf(database, runId)}
          where run_id = $2 and organization_id = $1 and number >= $4),
       inside (around, number, child_id) as (
         select number, number, child_id from later where number = any ($3::int[])
         union all
         select inside.around, later.number, later.child_id from inside join later on later.parent_number = inside.number),
       tree (child_id, id) as (
         select distinct child_id, child_id::uuid from inside where child_id is not null
         union all
         select t.child_id, r.id from tree t join runs r on r.parent_run_id = t.id where r.organization_id = $1),
       counted as materialized (select * from tree limit $5),
       calls as (
         select around, c.* from inside join model_calls c on c.run_id = $2 and c.step_number = inside.number
         union all
         select around, c.* from inside join counted using (child_id) join model_calls c on c.run_id = counted.id)
       select around, ${SUMS} from calls where organization_id = $1 group by around`,
      [organizationId, runId, numbers, Math.min(...numbers), LIMITS.runUsageRuns],
      organizationId,
    );
    for (const row of rows) found.set(`${runId} ${row["around"]}`, usageOf(row));
  }
  return steps.map(({ runId, number }) => found.get(`${runId} ${number}`) ?? null);
}

/** With the runs below it, at most `LIMITS.runUsageRuns` of them. Null if none asked a model. */
export async function usageOfRun(
  { database }: Pick<Runs, "database">,
  organizationId: OrganizationId,
  id: RunId,
): Promise<ModelUsage | null> {
  const [row] = await database.query(
    `with recursive tree (id) as (
       select $2::uuid
       union all
       select r.id from tree t join runs r on r.parent_run_id = t.id where r.organization_id = $1),
     counted as (select id from tree limit $3)
     select ${SUMS}, count(*) as calls from model_calls where organization_id = $1 and run_id in (select id from counted)`,
    [organizationId, id, LIMITS.runUsageRuns],
    organizationId,
  );
  return Number(row!["calls"]) === 0 ? null : usageOf(row!);
}
