import { expect, test } from "vitest";
import { LIMITS } from "../../lib/limits.ts";
import { createRefreshTurns } from "./refresh-turns.ts";

/** With two at work. */
async function waiting(count: number, accountOf: (index: number) => string) {
  const turns = createRefreshTurns();
  const ended = Promise.withResolvers<void>();
  const working = Array.from({ length: 2 }, (_, index) =>
    turns({ group: `at work ${index}`, isKnown: false }, () => ended.promise),
  );
  const refused: string[] = [];
  const all = Array.from({ length: count }, (_, index) =>
    turns({ group: accountOf(index), isKnown: false }, async () => {}).catch((error: Error) =>
      refused.push(error.message),
    ),
  );
  // Who finds no place is refused at once.
  await Promise.resolve();
  await new Promise(setImmediate);
  const atOnce = [...refused];
  ended.resolve();
  await Promise.all([...working, ...all]);
  expect(refused).toEqual(atOnce);
  return refused;
}

const SENTENCE =
  "too many refresh tokens are waiting to be exchanged (at most 256, 32 per account): try again in a moment";

test.each([
  ["of all accounts", LIMITS.refreshesWaiting, (index: number) => `s${index}`],
  ["of one account", LIMITS.refreshesWaitingPerAccount, () => "s"],
])("%s as many wait as may, and one more is refused", async (_, most, accountOf) => {
  expect(await waiting(most, accountOf)).toEqual([]);
  expect(await waiting(most + 1, accountOf)).toEqual([SENTENCE]);
});
