/** Cases that the differential test can't ask jq: a prototype is not a key, and we leave it to jq to refuse it. */
import { expect, test } from "vitest";
import { LEFT_TO_JQ, startCounting } from "./signals.ts";
import { compileExpression } from "../template.ts";

const nativeOf = (text: string) => compileExpression(text).expressions[0]!.native;

test("an object with __proto__ as a key is left to jq", () => {
  expect(nativeOf("{__proto__: 1}")).toBeUndefined();
  expect(nativeOf('{a: 1, "__proto__": 2}')).toBeUndefined();
  startCounting();
  let thrown: unknown;
  try {
    nativeOf('{("__pro" + "to__"): 1}')!(null, {});
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBe(LEFT_TO_JQ);
  expect(nativeOf('{("pro" + "to"): 1, "": 2}')!(null, {})).toEqual({ proto: 1, "": 2 });
});
