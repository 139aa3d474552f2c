import { expect, test } from "vitest";
import { startDatabases } from "../../auth/handle/auth.testsuite.ts";
import { newId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { totalUsageOfSteps } from "./model-usage.ts";

/** How many steps are around all others. */
const DEPTH = 50;
/** The step around one of another currency. */
const ODD = 25;

test("steps around a whole run are summed up in one walk, each with its own currencies", async () => {
  await using databases = await startDatabases();
  await using database = await databases.open();
  const [organizationId, runId] = [newId<"organization">(), newId<"run">()];
  const last = LIMITS.stepsPerRun;
  await database.query("insert into organizations (id, name, plan, created_at) values ($1, 'large', 'free', now())", [
    organizationId,
  ]);
  await database.query(
    `insert into steps (run_id, number, organization_id, parent_number, key, name, kind, status, round, attempt, revision)
     select $1, n, $2, case when n = 1 then null when n <= $3 then n - 1 when n = $5 then $4 else $3 end, 'k' || n, 'one', 'do',
       'completed', '', 1, n from generate_series(1, $5::int) n`,
    [runId, organizationId, DEPTH, ODD, last],
  );
  await database.query(
    `insert into model_calls (organization_id, id, run_id, step_number, agent_id, project_id, connection, model, called_at,
       input_tokens, output_tokens, cached_input_tokens, cost, currency)
     select $1, gen_random_uuid(), $2, n, $2, $2, 'cheap', 'small', now(), 7, 2, 1, 0.5, case when n = $4 then 'USD' else 'EUR' end
       from generate_series($3::int + 1, $4) n`,
    [organizationId, runId, DEPTH, last],
  );
  const totals = async (numbers: readonly number[]) => {
    const start = performance.now();
    const steps = numbers.map((number) => ({ runId, number }));
    const usage = await totalUsageOfSteps({ database }, organizationId, steps, () => {});
    return { ms: performance.now() - start, usage };
  };
  const around = Array.from({ length: DEPTH }, (_, index) => index + 1);
  const times = { one: Infinity, all: Infinity };
  for (let time = 0; time < 3; time++) {
    times.one = Math.min(times.one, (await totals([1])).ms);
    const { ms, usage } = await totals(around);
    times.all = Math.min(times.all, ms);
    const calls = last - DEPTH;
    const of = (count: number) => ({ inputTokens: 7 * count, outputTokens: 2 * count, cachedInputTokens: count });
    const both = { ...of(calls), cost: null, currency: null };
    const euros = { ...of(calls - 1), cost: (calls - 1) / 2, currency: "EUR" };
    expect(usage).toEqual(around.map((number) => (number <= ODD ? both : euros)));
  }
  expect(times.all).toBeLessThan(10 * times.one);
  // A list of runs may end between two of them.
  const walks: number[] = [];
  const walked = (count: number): void => {
    walks.push(count);
    if (walks.length === 2) throw new Error("enough");
  };
  const steps = [runId, newId<"run">(), runId].map((id, at) => ({ runId: id, number: at + 1 }));
  const twice = [...steps, { runId: newId<"run">(), number: 1 }];
  await expect(totalUsageOfSteps({ database }, organizationId, twice, walked)).rejects.toThrow("enough");
  expect(walks).toEqual([last, 0]);
});
