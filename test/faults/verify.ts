/** Checks what must be true of a workload's runs when all is over, read from the API, the journal and the sink. */
import type pg from "pg";
import { expect } from "vitest";
import { decodeId } from "../../server/src/lib/ids.ts";
import { idempotencyKeyOf } from "../../server/src/execution/effect.ts";
import type { Data } from "../client.ts";
import type { Sink } from "../sink.ts";
import type { Asked, Asking } from "./workload.ts";
import { insisted } from "./workload.ts";

const READ = `query($id: ID!) { run(id: $id) { status output error { type } steps { name status } } }`;

/** Each acknowledged run is what its shape must become, however often something was killed. */
export async function expectEnds(server: Asking, asked: readonly Asked[], token?: string): Promise<void> {
  for (const { shape, runId } of asked) {
    const { run }: Data = await insisted(server, READ, { id: runId }, token);
    const result = run.status === "failed" ? run.error.type.split("/").at(-1) : run.output;
    const steps = run.steps.map(({ name, status }: Data) => `${name} ${status}`).toSorted();
    expect({ [shape.name]: runId, status: run.status, result, steps }).toEqual({
      [shape.name]: runId,
      status: shape.status,
      result: shape.result,
      steps: shape.steps,
    });
  }
}

/** One run for each key, and no run that nobody asked for, beside those of triggers. */
export async function expectOneRunAKey(client: pg.Client, asked: readonly Asked[]): Promise<void> {
  const { rows } = await client.query<{ key: string; run_id: string }>("select key, run_id from idempotency_keys");
  const known = new Map(rows.map(({ key, run_id: runId }) => [key, runId]));
  expect(known.size).toBe(asked.length);
  for (const { key, runId } of asked) expect([key, known.get(key)]).toEqual([key, decodeId("run", runId)]);
  const [runs] = (
    await client.query(
      "select count(*)::int as started from runs where parent_run_id is null and started_by_kind <> 'trigger'",
    )
  ).rows;
  expect(runs.started).toBe(asked.length);
}

type Tried = { attempt: number; errors: string[] };

/**
 * Each request is an attempt that was committed before it was sent, so what was finished was not called again; the
 * attempts before the last were interrupted, or answered with an error. Answers how many requests were repeats of an
 * interrupted attempt.
 */
export async function expectOnlyAttempts(client: pg.Client, sink: Sink): Promise<number> {
  const { rows } = await client.query(
    `select s.run_id, s.key, s.attempt, array(select t.error ->> 'detail' from attempts t
        where t.run_id = s.run_id and t.number = s.number order by t.attempt) as errors
       from steps s where s.kind = 'http' or s.kind like '%http%'`,
  );
  const tried = new Map<string, Tried>(
    rows.map(({ run_id: runId, key, attempt, errors }) => [idempotencyKeyOf(runId, key), { attempt, errors }]),
  );
  let interrupted = 0;
  for (const { run, step, requests, keys } of sink.requests.values()) {
    expect([run, step, keys.length]).toEqual([run, step, 1]);
    const { attempt, errors } = tried.get(keys[0]!) ?? { attempt: 0, errors: [] };
    expect([run, step, requests], `${attempt} attempts`).toEqual([run, step, Math.min(requests, attempt)]);
    for (const error of errors) expect(error).toMatch(/process stopped during this attempt|answered 503/);
    interrupted += errors.filter((error) => error.includes("process stopped")).length;
  }
  return interrupted;
}
