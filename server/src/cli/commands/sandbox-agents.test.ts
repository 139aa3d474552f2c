import { expect, test } from "vitest";
import { parseDefinition } from "../../definition/parse-definition.ts";
import { LIMITS } from "../../lib/limits.ts";
import { SANDBOX_AGENTS, sandboxDefinitions } from "./sandbox-agents.ts";

const definitions = sandboxDefinitions("sandbox", "http://127.0.0.1:4500/delay/20?x=1");

test.each(SANDBOX_AGENTS)("%s is a good definition", (name) => {
  const { workflow, problems } = parseDefinition(definitions[name]);
  expect(problems).toEqual([]);
  expect(workflow!.document).toMatchObject({ namespace: "sandbox", name });
});

test("call survives an outage of half an hour within a step's maximum tries", () => {
  const { use } = parseDefinition(definitions.call).workflow!;
  const { delay, backoff, limit } = use!.retries!["patient"] as any;
  let waitedMs = 0;
  let tries = 1;
  for (let pauseMs = delay.milliseconds; waitedMs < limit.duration.minutes * 60_000; tries++) {
    waitedMs += pauseMs;
    pauseMs = Math.min(pauseMs * backoff.exponential.factor, backoff.exponential.maxDelay.seconds * 1000);
  }
  expect(tries).toBeLessThan(LIMITS.attemptsPerStep);
  expect(tries).toBeGreaterThan(900);
});
