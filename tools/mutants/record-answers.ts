/** Writes what jq answers to the generated expressions of a fixed seed, once for all mutants. */
import { writeFile } from "node:fs/promises";
import { CORNERS } from "../../server/src/expressions/native/corners.testsuite.ts";
import {
  generatedCases,
  jqResults,
  nativeResult,
  type Asked,
} from "../../server/src/expressions/native/differential.testsuite.ts";
import { JqPool } from "../../server/src/expressions/jq/jq-pool.ts";
import { createLog } from "../../server/src/lib/log/log.ts";

const SEED = 20_261_121;
const IN_ONE_PROGRAM = 100;

await using pool = new JqPool(createLog("silent"));
const corners = CORNERS.map(([text, data]) => ({ text, data, variables: { context: null, input: null } }));
const asked: Asked[] = [...generatedCases(SEED), ...corners];
const answers = [];
for (let at = 0; at < asked.length; at += IN_ONE_PROGRAM) {
  const batch = asked.slice(at, at + IN_ONE_PROGRAM);
  for (const [place, theirs] of (await jqResults(pool, batch)).entries()) {
    const { text, data, variables } = batch[place]!;
    answers.push({ text, data, variables, theirs, isNative: nativeResult(text, data, variables) !== undefined });
  }
}
await writeFile(new URL("answers.json", import.meta.url), JSON.stringify(answers));
