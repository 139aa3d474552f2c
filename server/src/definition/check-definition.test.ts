import { expect, test } from "vitest";
import { checkDefinition, type ExpressionCheck } from "./check-definition.ts";
import { EVERYTHING, whole } from "./definitions.fixture.ts";

/** As jq would answer for a function that does not exist. */
const check: ExpressionCheck = async (text) =>
  text.includes("unknown") ? { message: "unknown/0 is not defined", offset: 0 } : undefined;

test("each expression is compiled once, and told at each of its places", async () => {
  const asked: string[] = [];
  const text = whole(
    "do:\n  - a: {if: unknown, set: {x: '${ unknown }', y: '${ .y }'}}\n  - b: {if: unknown, set: {x: '${ .y }'}}\n",
  );
  const { problems, workflow } = await checkDefinition(text, async (expression) => {
    asked.push(expression);
    return check(expression);
  });
  expect(workflow).toBeUndefined();
  expect(problems.map(({ line, path, message }) => `${line} ${path} ${message}`)).toEqual([
    "3 /do/0/a/if the expression does not compile: unknown/0 is not defined",
    "3 /do/0/a/set/x the expression does not compile: unknown/0 is not defined",
    "4 /do/1/b/if the expression does not compile: unknown/0 is not defined",
  ]);
  expect(asked.toSorted()).toEqual(["${ .y }", "${ unknown }", "unknown"]);
});

test("jq's problems stand among the others, in the order of the text", async () => {
  const text = whole(
    "do:\n  - a: {if: unknown, sett: {x: 1}}\n  - b: {wait: PT1S, if: unknown, then: c}\n  - d: {wait: P1M}\n",
  );
  const { problems } = await checkDefinition(text, check);
  expect(problems.map(({ path }) => path)).toEqual(["/do/0/a/sett", "/do/1/b/if", "/do/1/b/then", "/do/2/d/wait"]);
});

test("a definition without problems is returned", async () => {
  expect((await checkDefinition(EVERYTHING, check)).workflow?.document.name).toBe("everything");
});

test("the number of different expressions is limited", async () => {
  const many = Array.from({ length: 2_001 }, (_, index) => `k${index}: '\${ .k${index} }'`).join(", ");
  const { problems } = await checkDefinition(whole(`do:\n  - a: {set: {${many}}}\n`), check);
  expect(problems.map(({ path, message }) => `${path} ${message}`)).toEqual([
    "/do/0/a/set/k2000 a definition may have 2000 expressions; this is one too many",
  ]);
});
