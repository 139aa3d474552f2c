/** The use of models by a step, and for a run with all runs that it started. */
import { parseStored } from "../../lib/json/json.ts";
import type { OrganizationId, RunId, StepId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { CHILD_COLUMN } from "../../execution/journal/read-rows.ts";
import type { Database, Row } from "../../storage/database.ts";
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

/** All rows in one, each as a list of its values: ten thousand of them take a third of the time that rows of their own do. */
const inOneRow = (rows: string, columns: string): string =>
  `select coalesce(json_agg(json_build_array(${columns})), '[]')::text as all from (${rows}) as rows`;

const rowsIn = <Values>([row]: readonly Row[]): Values[] => parseStored(row!["all"]) as unknown as Values[];

const sumOf = (one: ModelUsage | undefined, other: ModelUsage): ModelUsage => {
  if (!one) return other;
  const isPriced = one.cost !== null && other.cost !== null && one.currency === other.currency;
  return {
    inputTokens: Math.min(one.inputTokens + other.inputTokens, MAX_INT),
    outputTokens: Math.min(one.outputTokens + other.outputTokens, MAX_INT),
    cachedInputTokens: Math.min(one.cachedInputTokens + other.cachedInputTokens, MAX_INT),
    cost: isPriced ? one.cost! + other.cost! : null,
    currency: isPriced ? one.currency : null,
  };
};

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
 * a run. Null for one where none asked a model. Goes through each run's steps once, however many of them are asked for: `walked` gets
 * their number, and may end it before the next run.
 */
export async function totalUsageOfSteps(
  { database }: Pick<Runs, "database">,
  organizationId: OrganizationId,
  steps: readonly StepId[],
  walked: (steps: number) => void,
): Promise<(ModelUsage | null)[]> {
  const found = new Map<string, ModelUsage>();
  for (const [runId, wanted] of Map.groupBy(steps, (step) => step.runId)) {
    const numbers = wanted.map(({ number }) => number);
    const { totals, steps: count } = await totalsInside(database, organizationId, runId, numbers);
    for (const [number, usage] of totals) found.set(`${runId} ${number}`, usage);
    walked(count);
  }
  return steps.map(({ runId, number }) => found.get(`${runId} ${number}`) ?? null);
}

type CallsRow = [number, number, number, number, number | null, string | null, boolean];

const usageOfCalls = ([number, inputTokens, outputTokens, cachedInputTokens, cost, currency, isPriced]: CallsRow): [
  number,
  ModelUsage,
] => {
  const price = isPriced ? { cost, currency } : { cost: null, currency: null };
  return [number, { inputTokens, outputTokens, cachedInputTokens, ...price }];
};

/**
 * The totals of these steps and of all steps inside them, and how many steps were read for them. A step has a higher number than the one
 * around it.
 */
async function totalsInside(
  database: Database,
  organizationId: OrganizationId,
  runId: RunId,
  numbers: readonly number[],
): Promise<{ totals: Map<number, ModelUsage>; steps: number }> {
  const from = [organizationId, runId, Math.min(...numbers)];
  const [later, calls] = await Promise.all([
    database.query(
      inOneRow(
        `select number, parent_number, ${CHILD_COLUMN} from steps_${partitionOf(database, runId)}
          where organization_id = $1 and run_id = $2 and number >= $3 order by number`,
        "number, parent_number, child_id",
      ),
      from,
      organizationId,
    ),
    database.query(
      inOneRow(
        `select step_number, ${SUMS} from model_calls where organization_id = $1 and run_id = $2 and step_number >= $3
          group by step_number`,
        "step_number, input_tokens, output_tokens, cached_input_tokens, cost, currency, is_priced",
      ),
      from,
      organizationId,
    ),
  ]);
  const read = rowsIn<[number, number, RunId | null]>(later);
  const around = new Set(numbers);
  const inside = read.filter(([number, parent]) => {
    if (around.has(parent)) around.add(number);
    return around.has(number);
  });
  const ofCalls = new Map(rowsIn<CallsRow>(calls).map(usageOfCalls));
  const ofChildren = await usageOfTrees(
    database,
    organizationId,
    inside.flatMap(([, , childId]) => childId ?? []),
  );
  const totals = new Map<number, ModelUsage>();
  const add = (number: number, usage: ModelUsage | undefined): unknown =>
    usage && totals.set(number, sumOf(totals.get(number), usage));
  for (const [number, parent, childId] of inside.toReversed()) {
    add(number, ofCalls.get(number));
    if (childId !== null) add(number, ofChildren.get(childId));
    if (around.has(parent)) add(parent, totals.get(number));
  }
  return { totals, steps: read.length };
}

/** By run, each with the runs below it. */
async function usageOfTrees(
  database: Database,
  organizationId: OrganizationId,
  runIds: readonly RunId[],
): Promise<Map<RunId, ModelUsage>> {
  if (runIds.length === 0) return new Map();
  const rows = await database.query(
    `with recursive tree (top, id) as (
       select distinct id, id from unnest($2::uuid[]) as id
       union all
       select t.top, r.id from tree t join runs r on r.parent_run_id = t.id where r.organization_id = $1),
     counted as materialized (select * from tree limit $3)
     select top, ${SUMS} from counted join model_calls c on c.run_id = counted.id where c.organization_id = $1 group by top`,
    [organizationId, runIds.slice(0, LIMITS.runUsageRuns), LIMITS.runUsageRuns],
    organizationId,
  );
  return new Map(rows.map((row) => [row["top"] as RunId, usageOf(row)]));
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
