/**
 * How much a test does: `npm test` takes a telling part, the least that is red when the promise is broken, and `npm run test:long`
 * the whole of each file that asks (vitest.config.ts finds them; bench/README.md has the last result).
 */
export const scaled = <Value>({ whole, part }: { whole: Value; part: Value }): Value =>
  process.env["TEST_SCALE"] === "whole" ? whole : part;

/**
 * Whether this is the whole `npm test`, which leaves to `npm run test:long` what is exhaustive in any size and whose promise has a
 * telling test elsewhere: `test.skipIf(leftToLong)(…)`. A file that is named (`npm test -- FILE`) runs all of its tests.
 */
export const leftToLong = process.env["TEST_URL"] === "telling";
