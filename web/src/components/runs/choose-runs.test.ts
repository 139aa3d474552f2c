import { expect, test } from "vitest";
import { chooseIn } from "./choose-runs.ts";

const RUNS = ["a", "b", "c", "d", "e"].map((id) => ({ id }));
const chosenAfter = (...presses: [id: string, isRange: boolean][]): string =>
  [
    ...presses.reduce(
      (chosen, [id, isRange]) => chooseIn(RUNS, chosen, { id, isRange }),
      new Set() as ReadonlySet<string>,
    ),
  ]
    .toSorted()
    .join("");

test("one after the other is chosen, and the same one again is not", () => {
  expect(chosenAfter(["b", false], ["d", false])).toBe("bd");
  expect(chosenAfter(["b", false], ["d", false], ["b", false])).toBe("d");
});

test("with shift all between the last one and this one are chosen, up or down", () => {
  expect(chosenAfter(["b", false], ["d", true])).toBe("bcd");
  expect(chosenAfter(["d", false], ["a", true])).toBe("abcd");
  expect(chosenAfter(["c", true])).toBe("c");
});
