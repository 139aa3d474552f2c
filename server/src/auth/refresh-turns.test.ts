import { expect, test } from "vitest";
import { LIMITS } from "../lib/limits.ts";
import { createRefreshTurns } from "./refresh-turns.ts";

/** With two at work. */
async function waiting(count: number, sessionOf: (index: number) => string) {
  const turns = createRefreshTurns();
  const ended = Promise.withResolvers<void>();
  const working = Array.from({ length: 2 }, (_, index) =>
    turns({ group: `at work ${index}`, isKnown: false }, () => ended.promise),
  );
  const refused: string[] = [];
  const all = Array.from({ length: count }, (_, index) =>
    turns({ group: sessionOf(index), isKnown: false }, async () => {}).catch((error: Error) =>
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

const SENTENCE = "too many refresh tokens are being used (256 may wait, 32 of one session): try again in a moment";

test.each([
  ["of all sessions", LIMITS.refreshesWaiting, (index: number) => `s${index}`],
  ["of one session", LIMITS.refreshesWaiting / 8, () => "s"],
])("%s as many wait as may, and one more is refused", async (_, most, sessionOf) => {
  expect(await waiting(most, sessionOf)).toEqual([]);
  expect(await waiting(most + 1, sessionOf)).toEqual([SENTENCE]);
});
