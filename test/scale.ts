/**
 * How often a test does what it does: `npm test` takes a part, so that all tests together take half an hour, and
 * `npm run soak -- --tests` the whole (bench/README.md has its last result).
 */
export const scaled = ({ whole, part }: { whole: number; part: number }): number =>
  process.env["TEST_SCALE"] === "whole" ? whole : part;
