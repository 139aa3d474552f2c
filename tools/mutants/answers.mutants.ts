/** The differential test without jq: its answers were recorded before there were mutants. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { nativeResult, type Asked, type Result } from "../../server/src/expressions/native/differential.testsuite.ts";

type Answer = Asked & { theirs: Result; isNative: boolean };

const answers = JSON.parse(readFileSync(new URL("answers.json", import.meta.url), "utf8")) as Answer[];

test("the same as jq", () => {
  for (const { text, data, variables, theirs, isNative } of answers) {
    const ours = nativeResult(text, data, variables);
    if (ours || isNative) expect(JSON.stringify(ours), text).toBe(JSON.stringify(theirs));
  }
});
