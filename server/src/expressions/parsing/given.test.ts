/** Parts of a text that must have a value: the same answer in this process and from jq. */
import { afterAll, expect, test } from "vitest";
import { newId } from "../../lib/ids.ts";
import { createLog } from "../../lib/log/log.ts";
import { createExpressions } from "../expressions.ts";
import { withGiven } from "./given.ts";
import { compileTemplate, type CompiledExpression } from "../template.ts";

const expressions = createExpressions({ log: createLog("silent") });
afterAll(() => expressions[Symbol.asyncDispose]());

const ORGANIZATION = newId<"organization">();
const DEMAND = { place: "/p", so: "so nothing was sent", allowsEmpty: false };

async function resultOf(text: string, data: object, byJq: boolean, demand = DEMAND): Promise<unknown> {
  const template = compileTemplate(`\${ ${text} }`, () => demand);
  const [{ native, ...rest }] = template.expressions as [CompiledExpression];
  const made = byJq || !native ? { ...template, expressions: [rest] } : template;
  try {
    return await expressions.evaluate(made, data as never, { v: null }, ORGANIZATION);
  } catch (error) {
    return (error as { reason: string }).reason;
  }
}

const DATA = { id: "7", none: null, empty: "", list: [1], object: { a: 1 }, no: false, n: 0 };

test.each([
  ['"a\\(.id)b"', "a7b"],
  ['"a\\(.no)\\(.n)"', "afalse0"],
  ['"a\\(.none)"', ".none in /p is null, so nothing was sent"],
  ['"a\\( .empty )"', ".empty in /p is an empty text, so nothing was sent"],
  ['"a\\(.list)"', ".list in /p is a list, so nothing was sent"],
  ['"a\\(.object)"', ".object in /p is an object, so nothing was sent"],
  ['"a\\(.object | tojson)"', 'a{"a":1}'],
  ['"a\\(.none // "x")"', "ax"],
  ['"a\\(.none // .empty)"', ".none // .empty in /p is an empty text, so nothing was sent"],
  ['"a\\(.none | tostring)"', ".none in /p is null, so nothing was sent"],
  ['"a\\(.object | .b | @uri)"', ".b in /p is null, so nothing was sent"],
  ['"a\\([.id, "x y"] | join("-") | @uri)"', "a7-x%20y"],
  ['"a\\([.id] | @csv)"', 'a"7"'],
  ['@uri "a\\(.none)"', ".none in /p is null, so nothing was sent"],
  ['"a" + .none', ".none in /p is null, so nothing was sent"],
  ['.none + "a" + .id', ".none in /p is null, so nothing was sent"],
  ['"a" + (.id + .empty)', "a7"],
  ['("a" + .id) + "\\("b" + .none)"', ".none in /p is null, so nothing was sent"],
  ['"a\\("b\\(.none)")"', ".none in /p is null, so nothing was sent"],
  ['"a\\(.none # | @uri\n)"', ".none # | @uri in /p is null, so nothing was sent"],
  ['if .no then "a\\(.none)" else "b\\(.id)" end', "b7"],
  ['.id as $x | "a\\($x)\\($v)"', "$v in /p is null, so nothing was sent"],
  ['.object | "a\\(.b)"', ".b in /p is null, so nothing was sent"],
  // An expression that only jq computes with stays as it is.
  ['if "\\(.none)" == "null" then "x" else "y" end', "x"],
  [".n + 1", 1],
  [".none + 1", 1],
  ['{a: "\\(.none)"}', { a: "null" }],
  ['"a" + 1', 'string ("a") and number (1) cannot be added'],
])("%s", async (text, result) => {
  expect([await resultOf(text, DATA, false), await resultOf(text, DATA, true)]).toEqual([result, result]);
});

test("an empty part may be allowed, null not", async () => {
  const demand = { ...DEMAND, allowsEmpty: true };
  expect(await resultOf('"a\\(.empty)"', DATA, true, demand)).toBe("a");
  expect(await resultOf('"a\\(.none)"', DATA, true, demand)).toBe(".none in /p is null, so nothing was sent");
});

test("a hundred parts are checked by jq as well", async () => {
  const many = `"${"\\(.id)".repeat(100)}\\(.none)"`;
  expect(await resultOf(many, DATA, true)).toBe(".none in /p is null, so nothing was sent");
  expect(withGiven(".id", DEMAND).program).toBeUndefined();
});
