/** A provider's pause when the process that executes dies: the runs that were held keep their times, in the process that takes over. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { start } from "../agents.ts";
import { eventually } from "../client.ts";
import { startLlmService, status, type LlmService } from "../llm-service.ts";
import { agentOf, ENDED, readRun, until } from "../runs.ts";
import { rolesOf, startPair, type Pair } from "./pair.ts";

const CREATE = "mutation($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }";
const RUNS = 40;
const PAUSE_S = 600;

let model: LlmService;
let pair: Pair;
beforeAll(async () => {
  [model, pair] = [await startLlmService(), await startPair()];
});
afterAll(async () => {
  await pair[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});

/** When each run that waits comes again, in order. */
async function wakeTimes(): Promise<number[]> {
  const { rows } = await pair.client.query("select wake_at from runs where wake_at is not null and owner is null");
  return rows.map(({ wake_at: at }) => at.getTime()).toSorted((a, b) => a - b);
}

test("kill -9 of the executor: held runs ask nothing before, come one after the other, and use no try", async () => {
  const { executor, standby } = await rolesOf(pair);
  const { projectId } = executor.world;
  const base = { projectId, name: "held", provider: "openai_compatible", baseUrl: model.url, model: "small" };
  await executor.data(CREATE, { input: base });
  model.replies = [status(429, { "retry-after": String(PAUSE_S) })];
  const tried =
    "{catch: {retry: {limit: {attempt: {count: 1}}}}, try: [{ask: {call: 'llm:1.0.0@default', with: {connection: held, prompt: Hi}}}]}";
  const agent = await agentOf(executor, `do: [{tried: ${tried}}]`);
  const first = await start(executor, agent);
  await eventually(async () => (await wakeTimes()).length === 1);
  expect(model.asked).toHaveLength(1);
  const ids = [first, ...(await Promise.all(Array.from({ length: RUNS - 1 }, () => start(executor, agent))))];
  await eventually(async () => (await wakeTimes()).length === RUNS);
  expect(model.asked).toHaveLength(1);
  const times = await wakeTimes();
  const apart = times.slice(1).map((at, index) => at - times[index]!);
  expect(Math.min(...apart)).toBeGreaterThanOrEqual(50);

  await executor.server.kill();
  await eventually(async () => (await rolesOf(pair)).executor.name === standby.name);
  expect(await wakeTimes()).toEqual(times);
  await standby.server.clock.advance(times[0]! - (await standby.server.clock.now()) - 30_000);
  expect(model.asked).toHaveLength(1);
  model.replies = ["Hello"];
  await standby.server.clock.advance(30_000 + 50 * RUNS);
  for (const id of ids) {
    expect(await until(standby, id, ...ENDED)).toMatchObject({ status: "completed", output: "Hello" });
    expect((await readRun(standby, id)).steps[0].attempts).toHaveLength(1);
  }
  expect(new Set(model.asked.map(({ key }) => key)).size).toBe(RUNS);
});
