/** Expressions that never end or grow without limit: each fails with its reason, and nobody else notices. */
import { spawnSync } from "node:child_process";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { scaled } from "../../../test/scale.ts";
import { newId, type OrganizationId } from "../lib/ids.ts";
import type { Json } from "../lib/json/json.ts";
import { createLog } from "../lib/log/log.ts";
import { ExpressionError } from "./parsing/expression-error.ts";
import { createExpressions, type Expressions } from "./expressions.ts";
import { compileExpression } from "./template.ts";
import { watchWorkers } from "../threads/watch-workers.testsuite.ts";

const log = createLog("silent");
const [OURS, THEIRS] = [newId<"organization">(), newId<"organization">()];
const evaluate = async (
  expressions: Expressions,
  text: string,
  organizationId = OURS,
  data: Json = null,
): Promise<Json> => expressions.evaluate(compileExpression(text), data, {}, organizationId);

async function errorOf(expressions: Expressions, text: string, organizationId = OURS, data?: Json): Promise<unknown> {
  try {
    return await evaluate(expressions, text, organizationId, data);
  } catch (error) {
    return error;
  }
}

/** Its end is in the data: two seconds of a processor are over long before 1e9. */
const LATE = "last(range(.)) | @text";

const HOSTILE = [
  // One for each reason, beside the time that `LATE` takes.
  '"x" * 1e8 | length',
  "[range(300000)]",
  ...scaled({
    whole: [
      "last(repeat(.))",
      "def f: f | f; f",
      "[range(1e9)]",
      "def f: [f]; f",
      "def f(x): f(f(x)); f(1)",
      '"x" * 1e9',
      'reduce range(40) as $i ("x"; . + .)',
      "reduce range(20000) as $i (null; [.]) | tojson",
    ],
    part: [],
  }),
];
const REASONS =
  /^(?:takes longer than 2000 ms|needs more than 64 MiB of memory|the result is larger than 1048576 bytes)/;

test("they end, and this thread stays free; what their data made late is as quick for ours as before", async () => {
  await using expressions = createExpressions({ log });
  const begun = { process: process.cpuUsage(), thread: process.threadCpuUsage() };
  const errors = await Promise.all([
    errorOf(expressions, LATE, THEIRS, 1e9),
    ...HOSTILE.map((text) => errorOf(expressions, text)),
  ]);
  const all = process.cpuUsage(begun.process);
  const here = process.threadCpuUsage(begun.thread);
  // A share, since a busy machine makes both longer. On this thread it would be nearly all.
  expect(here.user + here.system).toBeLessThan((all.user + all.system) / 3);
  for (const error of errors) expect(error).toBeInstanceOf(ExpressionError);
  const reasons = errors.map((error) => (error as ExpressionError).reason);
  for (const reason of reasons) expect(reason).toMatch(REASONS);
  expect(reasons[0]).toBe("takes longer than 2000 ms");
  expect(reasons[1]).toMatch(/^needs more than 64 MiB/);
  expect(reasons[2]).toMatch(/^the result is larger/);
  expect(await evaluate(expressions, "[1, 2] | @csv")).toBe("1,2");

  let settled = 0;
  const endless = Array.from({ length: 3 }, async () => {
    await errorOf(expressions, LATE, THEIRS, 1e9);
    settled++;
  });
  expect(await evaluate(expressions, LATE, OURS, 3)).toBe("2");
  expect(settled).toBe(0);
  await expressions[Symbol.asyncDispose]();
  await Promise.all(endless);
});

test("a late program does not occupy further threads, and a stop is not reported as its author's mistake", async () => {
  const expressions = createExpressions({ log });
  using workers = watchWorkers();
  const endless = Array.from({ length: 80 }, () => errorOf(expressions, "last(repeat(.))"));
  await evaluate(expressions, "[3] | @csv");
  // Each late program costs its thread: two do, and perhaps some that run alone. Without a memory of them, 79 would.
  expect(workers.all.length).toBeLessThan(12);
  await expressions[Symbol.asyncDispose]();
  for (const error of await Promise.all(endless)) {
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(ExpressionError);
  }
});

test.each([
  ["evaluates", evaluate],
  ["checks", (expressions: Expressions, text: string, of: OrganizationId) => expressions.check(text, of)],
])("what another organization %s does not wait for those that are queued", async (_, ask) => {
  await using expressions = createExpressions({ log });
  using workers = watchWorkers();
  let settled = 0;
  for (let n = 0; n < 35; n++)
    ask(expressions, `"x" * 1e9 + "${n}" | @csv`, THEIRS)
      .catch(() => {})
      .finally(() => settled++);
  await setImmediate();
  // The third is for us.
  expect(workers.all).toHaveLength(2);
  await ask(expressions, "[3] | @csv", OURS);
  // Jobs that ended while their thread was starting.
  expect(settled).toBeLessThan(8);
});

test("200 evaluations that wait for jq hold no text of their data, 1 MB each", async () => {
  const expressions = createExpressions({ log });
  const data = "x".repeat(1_000_000);
  const before = process.memoryUsage().heapUsed;
  const endless = Array.from({ length: 200 }, () =>
    evaluate(expressions, "last(repeat(.))", OURS, data).catch(() => {}),
  );
  for (let turn = 0; turn < 500; turn++) await setImmediate();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(60e6);
  await expressions[Symbol.asyncDispose]();
  await Promise.all(endless);
});

test("an idle jq does not keep the process", () => {
  const script = `
    import { createExpressions } from ${JSON.stringify(import.meta.resolve("./expressions.ts"))};
    import { compileExpression } from ${JSON.stringify(import.meta.resolve("./template.ts"))};
    console.log(await createExpressions({ log: console }).evaluate(compileExpression("[1] | @csv"), null, {}, "one"));`;
  const { stdout, status, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    timeout: 240_000,
    encoding: "utf8",
  });
  expect({ stdout, status, stderr }).toEqual({ stdout: "1\n", status: 0, stderr: "" });
});
