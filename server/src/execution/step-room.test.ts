import { expect, test } from "vitest";
import { parse } from "yaml";
import { compileWorkflow } from "../definition/program.ts";
import { leastOf } from "./step-room.ts";

const leastIn = (tasks: string) =>
  leastOf(compileWorkflow(parse(`document: {dsl: 1.0.3, namespace: a, name: a, version: 1.0.0}\ndo: ${tasks}`)).block);

test.each([
  ["[{a: {set: {b: 1}}}, {c: {set: {d: 1}}}]", 2, true],
  ["[{a: {if: .x, set: {b: 1}}}, {c: {set: {d: 1}}}]", 2, true],
  ["[{a: {set: {b: 1}, then: exit}}, {c: {set: {d: 1}}}]", 1, false],
  ["[{a: {switch: [{x: {when: .x, then: end}}]}}, {c: {set: {d: 1}}}]", 1, false],
  ["[{a: {raise: {error: {type: b, status: 400}}}}, {c: {set: {d: 1}}}]", 1, false],
  ["[{a: {do: [{b: {set: {c: 1}}}, {d: {set: {e: 1}}}]}}, {f: {set: {g: 1}}}]", 4, true],
  ["[{a: {if: .x, do: [{b: {set: {c: 1}}}]}}, {f: {set: {g: 1}}}]", 2, true],
  ["[{a: {do: [{b: {set: {c: 1}, then: end}}]}}, {f: {set: {g: 1}}}]", 2, false],
  ["[{a: {fork: {branches: [{b: {set: {c: 1}}}, {d: {set: {e: 1}}}]}}}]", 3, true],
  ["[{a: {fork: {compete: true, branches: [{b: {set: {c: 1}}}, {d: {set: {e: 1}}}]}}}]", 1, true],
  ["[{a: {for: {in: .x}, do: [{b: {set: {c: 1}}}]}}, {d: {set: {e: 1}}}]", 2, true],
  ["[{a: {for: {in: .x}, do: [{b: {set: {c: 1}, then: end}}]}}, {d: {set: {e: 1}}}]", 1, false],
])("%s", (tasks, steps, isWhole) => {
  expect(leastIn(tasks)).toEqual({ steps, isWhole });
});
