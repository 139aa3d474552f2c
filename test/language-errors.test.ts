/** The language over the wire: errors, and who catches them. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runOf, stepsOf } from "./runs.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const RAISE = (): string =>
  `raise: {error: {type: 'https://example.org/errors/broken', status: 418, title: Broken, detail: as it should}}`;

const tried = (rule: string, rest = ""): string =>
  `${rest}\ndo: [{attempt: {try: [{fail: {${RAISE()}}}], catch: {${rule}}}}, {after: {set: {went: on, in: '\${ . }'}}}]`;

describe("raise", () => {
  test("an error goes outward through every task around it, and fails the run with its place", async () => {
    const run = await runOf(
      server,
      `do: [{outer: {do: [{inner: {do: [{fail: {${RAISE()}}}]}}]}}, {after: {set: {a: 1}}}]`,
    );
    expect(run).toMatchObject({
      status: "failed",
      output: null,
      error: {
        type: "https://example.org/errors/broken",
        status: 418,
        title: "Broken",
        detail: "as it should",
        instance: "/do/0/outer/do/0/inner/do/0/fail",
        stepNumber: 3,
      },
      currentStep: 3,
    });
    expect(run.progress).toBeLessThan(100);
    expect(stepsOf(run)).toEqual(["outer failed", "inner failed", "fail failed"]);
    for (const { error } of run.steps) expect(error.detail).toBe("as it should");
  });

  test("with expressions, and by name", async () => {
    const named = await runOf(
      server,
      `
use: {errors: {late: {type: 'https://example.org/late', status: 410, detail: '\${ "day \\(.day)" }'}}}
do: [{fail: {raise: {error: late}}}]
`,
      { day: 7 },
    );
    expect(named.error).toMatchObject({ type: "https://example.org/late", status: 410, title: null, detail: "day 7" });
  });
});

describe("catch", () => {
  test.each([
    ["everything", "as: error", true],
    ["the type by its last segment", "errors: {with: {type: 'https://elsewhere.example/broken'}}", true],
    ["another type", "errors: {with: {type: 'https://example.org/errors/other'}}", false],
    ["the status", "errors: {with: {status: 418}}", true],
    ["another status", "errors: {with: {status: 419}}", false],
    ["every field", "errors: {with: {type: broken, status: 418, title: Broken}}", true],
    ["every field but one", "errors: {with: {type: broken, status: 418, title: Other}}", false],
    ["when it holds", "when: '${ .status == 418 and $error.title == \"Broken\" }'", true],
    ["when it does not hold", "when: '${ .status == 1 }'", false],
    ["exceptWhen it holds", "exceptWhen: '${ $error.status == 418 }'", false],
    ["exceptWhen it does not hold", "exceptWhen: '${ $error.status == 1 }'", true],
    ["by another name", "as: problem, when: '${ $problem.status == 418 }'", true],
  ])("%s", async (_, rule, isCaught) => {
    const run = await runOf(server, tried(rule), { given: 1 });
    expect(run.status).toBe(isCaught ? "completed" : "failed");
    if (isCaught) expect(run.output).toEqual({ went: "on", in: { given: 1 } });
    else expect(run.error).toMatchObject({ status: 418, stepNumber: 2 });
    expect(stepsOf(run).slice(0, 2)).toEqual([`attempt ${isCaught ? "completed" : "failed"}`, "fail failed"]);
  });

  test("catch.do sees the error and runs on the input of the try; what it raises is not caught again", async () => {
    const run = await runOf(
      server,
      `
do:
  - attempt:
      try: [{one: {set: {a: 2}}}, {fail: {${RAISE()}}}]
      catch: {as: problem, do: [{mend: {set: {was: '\${ . }', because: '\${ $problem.detail }', at: '\${ $problem.instance }'}}}]}
`,
      { a: 1 },
    );
    expect(run.output).toEqual({ was: { a: 1 }, because: "as it should", at: "/do/0/attempt/try/1/fail" });
    expect(stepsOf(run)).toEqual(["attempt completed", "one completed", "fail failed", "mend completed"]);
    const again = await runOf(
      server,
      `do: [{attempt: {try: [{fail: {${RAISE()}}}], catch: {do: [{worse: {raise: {error: {type: 'https://example.org/worse', status: 500}}}}]}}}]`,
    );
    expect(again.error).toMatchObject({ type: "https://example.org/worse", stepNumber: 3 });
  });

  test("an expression that fails within the try is caught, one in the rule itself is not", async () => {
    const body = (rule: string): string =>
      `do: [{attempt: {try: [{bad: {set: {a: '\${ error("x") }'}}}], catch: {${rule}}}}, {after: {set: {ok: true}}}]`;
    expect((await runOf(server, body("errors: {with: {type: expression}}"))).output).toEqual({ ok: true });
    expect((await runOf(server, body("when: '${ error(\"y\") }'"))).error).toMatchObject({
      type: expect.stringMatching(/\/expression$/),
      detail: expect.stringMatching(/y/),
    });
  });
});
