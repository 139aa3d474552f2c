import { GraphQLError, parse } from "graphql";
import { expect, test } from "vitest";
import { badInput, notFound, type FieldProblem } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Log } from "../../lib/log/log.ts";
import { createErrorMask, GraphqlRefusal } from "./errors.ts";

function maskWithLog() {
  const lines: unknown[] = [];
  const write = (...parts: unknown[]): void => void lines.push(parts);
  const log = { debug: write, info: write, warn: write, error: write } as unknown as Log;
  const isUnavailable = (error: unknown): boolean => error instanceof Error && error.message === "connection lost";
  return { lines, mask: createErrorMask(log, isUnavailable) };
}

const thrownBy = (originalError: Error): GraphQLError =>
  new GraphQLError(originalError.message, { originalError, path: ["run"] });

test("a refusal is shown with its code and details, and not logged", () => {
  const { lines, mask } = maskWithLog();
  expect(mask.show(thrownBy(notFound("Run")), "r1")).toEqual([
    { message: "Run not found", path: ["run"], extensions: { code: "NOT_FOUND" } },
  ]);
  const fields: FieldProblem[] = [{ path: "input.n", code: "required", message: "is missing" }];
  expect(mask.show(badInput("invalid_input", "no", fields), "r1")).toEqual([
    { message: "no", extensions: { code: "BAD_USER_INPUT", reason: "invalid_input", fields } },
  ]);
  expect(lines).toEqual([]);
});

test.for([
  new Error("password is hunter2"),
  new TypeError("x is not a function"),
  Object.assign(new Error("duplicate key"), { code: "23505", detail: "secret" }),
])("a bug is masked, and logged with the request's id: %s", (bug) => {
  for (const error of [bug, thrownBy(bug)]) {
    const { lines, mask } = maskWithLog();
    const shown = mask.show(error, "r7");
    expect(shown[0]).toMatchObject({ extensions: { code: "INTERNAL_SERVER_ERROR", requestId: "r7" } });
    expect(JSON.stringify(shown)).not.toContain(bug.message);
    expect(shown[0]!.message).toContain("r7");
    expect(lines).toEqual([[expect.objectContaining({ requestId: "r7", err: bug }), expect.any(String)]]);
  }
});

test("what the executor itself finds wrong with an answer is a bug, too", () => {
  const { mask, lines } = maskWithLog();
  const shown = mask.show(new GraphQLError("Cannot return null for non-nullable field Run.id."), "r8");
  expect(shown[0]!.extensions.code).toBe("INTERNAL_SERVER_ERROR");
  expect(lines).toHaveLength(1);
});

test("a database that cannot serve for now is UNAVAILABLE, not a bug", () => {
  const { mask } = maskWithLog();
  expect(mask.show(thrownBy(new Error("connection lost")), "r9")[0]!.extensions).toEqual({
    code: "UNAVAILABLE",
    retryAfter: 1,
  });
});

test("what is wrong with a query's text or variables is shown as it is", () => {
  const { mask, lines } = maskWithLog();
  const refusal = new GraphqlRefusal("GRAPHQL_VALIDATION_FAILED", [new GraphQLError("a"), new GraphQLError("b")]);
  expect(mask.show(refusal, "r1")).toEqual([
    { message: "a", extensions: { code: "GRAPHQL_VALIDATION_FAILED" } },
    { message: "b", extensions: { code: "GRAPHQL_VALIDATION_FAILED" } },
  ]);
  expect(lines).toEqual([]);
});

test("a text that repeats what was sent is cut", () => {
  const { mask } = maskWithLog();
  const long = "x".repeat(100_000);
  const cut = `${"x".repeat(LIMITS.messageCharacters - 1)}…`;
  const fits = "x".repeat(LIMITS.messageCharacters);
  expect(mask.show(badInput("invalid_input", fits), "r1")[0]!.message).toBe(fits);
  expect(mask.show(badInput("invalid_input", `${fits}x`), "r1")[0]!.message).toBe(cut);
  expect(mask.show(badInput("invalid_input", long, [{ path: long, code: "required", message: long }]), "r1")).toEqual([
    {
      message: cut,
      extensions: {
        code: "BAD_USER_INPUT",
        reason: "invalid_input",
        fields: [{ path: cut, code: "required", message: cut }],
      },
    },
  ]);
  const refusal = new GraphqlRefusal("GRAPHQL_PARSE_FAILED", [new GraphQLError(long)]);
  expect(mask.show(refusal, "r1")[0]!.message).toBe(cut);
  const [node] = parse("{ me }").definitions;
  expect(mask.show(new GraphQLError(long, { nodes: [node!] }), "r1")[0]!.message).toBe(cut);
});
