import { afterAll, beforeAll, expect, test } from "vitest";
import { testClock, type TestClock } from "../../../../test/clock.ts";
import { eventually } from "../../../../test/client.ts";
import { startDatabases } from "../../auth/handle/auth.testsuite.ts";
import { secretKeys } from "../../auth/tokens/secret-key.ts";
import { newId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { openRuns } from "../../runs/runs.testsuite.ts";
import { createSecrets } from "../../secrets/secrets.ts";
import { withMapped } from "./map-input.ts";
import { createTriggerMemory } from "../memory.ts";
import { createTriggers, type Triggers } from "../triggers.ts";

const stack = new AsyncDisposableStack();
let clock: TestClock;
let triggers: Triggers;
beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  const database = stack.use(await databases.open());
  clock = testClock();
  const { runs } = stack.use(await openRuns(database));
  const { agents, log } = runs;
  const { derive } = secretKeys(Buffer.alloc(32, 3));
  const secrets = createSecrets({ database, clock, log, derive });
  const memory = createTriggerMemory({ database, clock, log, derive });
  triggers = createTriggers({ secrets, database, clock, log, agents, runs, memory, url: "https://agents.example.org" });
});
afterAll(() => stack.disposeAsync());

test("a mapping's large input waits at most 10 s for a place, and never for another organization", async () => {
  const { largeInputs } = triggers;
  const [own, other] = [newId<"organization">(), newId<"organization">()];
  let held = 0;
  while (largeInputs.tryTake(own)) held++;
  expect(held).toBe(LIMITS.largeInputsOwn);
  const policy = { mapping: '${ {text: ("x" * 400000)} }' };
  const map = (organizationId: typeof own): Promise<number> =>
    withMapped(
      triggers,
      organizationId,
      policy,
      { data: {}, variables: {} },
      async (input) => (input!["text"] as string).length,
    );
  const waiting = map(own).catch((error: unknown) => error);
  await eventually(async () => largeInputs.waitingOf(own) === 1);
  expect(await map(other)).toBe(400_000);
  const rest = [other, other, newId<"organization">()].filter((one) => largeInputs.tryTake(one));
  expect(held + rest.length).toBe(LIMITS.largeInputs);
  for (const one of rest) largeInputs.release(one);
  clock.pass(10_000);
  expect(await waiting).toMatchObject({ code: "UNAVAILABLE", details: { retryAfter: 1 } });
  for (; held > 0; held--) largeInputs.release(own);
  // Each gives its place back: more than there are.
  for (let count = 0; count < 8; count++) expect(await map(own)).toBe(400_000);
});
