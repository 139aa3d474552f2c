import { expect, test } from "vitest";
import { isWhole } from "./watch-run-events.ts";

/** A commit of one step and the run: revisions `last - 1` and `last`. */
const commit = (last: number) => ({ revision: last, steps: [{ revision: last - 1 }] }) as never;

test("commits follow what was shown, also where some of them were shown already", () => {
  expect(isWhole([commit(4), commit(6)], 2)).toBe(true);
  expect(isWhole([commit(2), commit(4)], 2)).toBe(true);
  expect(isWhole([commit(2), commit(4), commit(6)], 3)).toBe(true);
});

test("a commit that sent no notice is missed, also after commits that were shown already", () => {
  expect(isWhole([commit(6)], 2)).toBe(false);
  expect(isWhole([commit(2), commit(6)], 2)).toBe(false);
  expect(isWhole([commit(2), commit(4), commit(8)], 4)).toBe(false);
});
