import { expect, test } from "vitest";
import { compileWorkflow } from "../../definition/program.ts";
import { taskPathOf } from "./program-path.ts";

const program = compileWorkflow({
  document: {},
  do: [
    { steps: { do: [{ inner: { set: { a: 1 } } }] } },
    {
      loop: {
        for: { in: "${ [1] }" },
        do: [{ steps: { try: [{ a: { set: { a: 1 } } }], catch: { do: [{ a: { set: {} } }] } } }],
      },
    },
  ],
} as never);

test.each([
  ["steps#1", "/do/0/steps"],
  ["steps#2/inner#1", "/do/0/steps/do/0/inner"],
  ["steps#1/steps/ask#1", "/do/0/steps"],
  ["loop#1/12/steps#1/a#3", "/do/1/loop/do/0/steps/try/0/a"],
  ["loop#1/12/steps#1/catch/a#1", "/do/1/loop/do/0/steps/catch/do/0/a"],
  ["loop#1/12/steps#1/catch/a#1/steps/model#1/steps/tool#2", "/do/1/loop/do/0/steps/catch/do/0/a"],
])("the step %s is of the task %s", (key, path) => {
  expect(taskPathOf(program, key)).toBe(path);
});

test("a step of another program has none", () => {
  expect(() => taskPathOf(program, "steps#1/other#1")).toThrow("no task");
});
