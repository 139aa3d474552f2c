/**
 * How long a definition of the largest size can hold the main thread: processor time of the longest step between two
 * times that the thread is given back, and of all of them.
 */
import { expect, test } from "vitest";
import { Lexer } from "yaml";
import { diffVersions } from "../agents/diff-versions.ts";
import { LIMITS } from "../lib/limits.ts";
import { atOnce, type Steps } from "../fairness/slices.ts";
import { leastMs, startStretches, type Stretches } from "../lib/processor-time.testsuite.ts";
import { checkDefinition } from "./check-definition.ts";
import { compileExpression } from "../expressions/template.ts";
import { checkFlow } from "./flow/flow.ts";
import { bySeverity, parseWithPlaces, type ParsedWithPlaces } from "./parse-definition.ts";
import type { Finding } from "./text/problem.ts";
import { longText, PLACES } from "../../../test/hostile/from-profile.ts";
import { seeded } from "../../../test/faults/random.ts";
import { scaled } from "../../../test/scale.ts";
import { compileWorkflow } from "./program.ts";
import { readDocument } from "./read-document.ts";

const STEP_MS = 200;
const WHOLE_MS = 2_000;
const HEAD = "document: {dsl: 1.0.3, namespace: t, name: a, version: 1.0.0}\n";

/** The parse whose step is the shortest of three, or the first below both limits: what the machine adds to one is not the definition's. */
function quickest(text: string): ReturnType<typeof measured> {
  let least = measured(text);
  for (let tried = 1; tried < 3 && (least.longest >= STEP_MS || least.whole >= WHOLE_MS); tried++) {
    const { longest, whole } = measured(text);
    least = { ...least, longest: Math.min(longest, least.longest), whole: Math.min(whole, least.whole) };
  }
  return least;
}

function measured(text: string): { parsed: ParsedWithPlaces; flow: Finding[]; longest: number; whole: number } {
  const stretches = startStretches();
  const parsed = timed(parseWithPlaces(text), stretches);
  const flow = parsed.workflow && parsed.isSound ? timed(checkFlow(parsed.workflow), stretches) : [];
  return { parsed, flow, longest: stretches.longestMs(STEP_MS), whole: stretches.wholeMs(WHOLE_MS) };
}

function timed<Result>(steps: Steps<Result>, { time }: Stretches): Result {
  for (;;) {
    const step = time(() => steps.next());
    if (step.done) return step.value;
  }
}

const tokensOf = (text: string): number => new Lexer().lex(text).reduce((sum) => sum + 1, 0);

const isTooLong = (text: string): boolean =>
  Buffer.byteLength(text) > LIMITS.definitionBytes || tokensOf(text) > LIMITS.definitionTokens;

/** The largest number of lines within the limits of bytes and tokens, or 2 % less. All have as many tokens as those of a short text. */
function most(start: string, line: (index: number) => string, end = ""): string {
  const whole = (count: number): string =>
    start + Array.from({ length: count }, (_, index) => line(index)).join("") + end;
  const fitting = Math.min(30_000, Math.ceil(LIMITS.definitionBytes / line(0).length));
  const few = Math.max(1, Math.min(100, fitting >> 1));
  const [once, twice] = [tokensOf(whole(few)), tokensOf(whole(2 * few))];
  const byTokens = few + Math.floor(((LIMITS.definitionTokens - once) * few) / (twice - once));
  let count = Math.min(fitting, byTokens);
  while (count > 0 && isTooLong(whole(count))) count = Math.floor(count * 0.98);
  expect(count, "what stands before the lines leaves room for some").toBeGreaterThan(0);
  return whole(count);
}

const list = (count: number, item: (index: number) => string): string =>
  Array.from({ length: count }, (_, at) => item(at)).join(",");

const CASES: [string, () => string][] = [
  ["unknown targets", () => most(`${HEAD}do:\n`, (at) => `- t${at}: {set: {a: 1}, then: nosuch${at}}\n`)],
  ["unknown keys of one object", () => most(`${HEAD}do:\n- a:\n`, (at) => `    unknown${at}: 1\n`)],
  ["unknown keys at the top", () => most(`${HEAD}do: [{a: {set: {b: 1}}}]\n`, (at) => `unknown${at}: 1\n`)],
  ["unknown keywords", () => most(`${HEAD}do:\n`, (at) => `- t${at}: {sett: {a: 1}}\n`)],
  ["unknown variables", () => most(`${HEAD}do:\n`, (at) => `- t${at}: {set: "\${ $nosuch${at} }"}\n`)],
  [
    "unknown variables of one expression",
    () => `${HEAD}do:\n- a: {set: {b: "\${ [${list(990, (at) => `$v${at}`)}] }"}}\n`,
  ],
  [
    "unknown policies beside known ones",
    () =>
      most(
        `${HEAD}use:\n  retries:\n${Array.from({ length: 1_000 }, (_, at) => `    policy${at}: {delay: PT1S}\n`).join("")}do:\n`,
        (at) => `- t${at}: {try: [{a: {set: {b: 1}}}], catch: {retry: polici${at}}}\n`,
      ),
  ],
  [
    "policies beside many variables",
    () =>
      most(
        `${HEAD}do:\n${Array.from({ length: 400 }, (_, at) => `- t${at}: {for: {each: v${at}, in: .a}, do: [{b: {set: {c: 1}}}]}\n`).join("")}use:\n  retries:\n`,
        (at) => `    policy${at}: {when: .a == $v${at}}\n`,
      ),
  ],
  [
    "expressions of many operators",
    () => most(`${HEAD}do:\n`, (at) => `- t${at}: {set: "\${ ${".a+".repeat(900)}${at} }"}\n`),
  ],
  [
    "expressions within one value",
    () => most(`${HEAD}do:\n- a:\n    set:\n`, (at) => `      k${at}: "\${ ${".a+".repeat(60)}${at} }"\n`),
  ],
  [
    "bindings",
    () =>
      most(
        `${HEAD}do:\n`,
        (at) => `- t${at}: {set: "\${ ${Array.from({ length: 60 }, (_, k) => `. as $v${k} | `).join("")} ${at} }"}\n`,
      ),
  ],
  [
    "long texts in expressions",
    () => most(`${HEAD}do:\n`, (at) => `- t${at}: {set: "\${ \\"${"x".repeat(7_900)}${at}\\" }"}\n`),
  ],
  [
    "tasks within tasks",
    () => {
      const nested = (depth: number): string => (depth === 0 ? "{set: {a: 1}}" : `{do: [{x: ${nested(depth - 1)}}]}`);
      return most(`${HEAD}do:\n`, (at) => `- t${at}: ${nested(14)}\n`);
    },
  ],
  [
    "choices",
    () =>
      most(
        `${HEAD}input: {schema: {document: {type: object, properties: {\n`,
        (at) => `f${at}: {type: string, default: no, enum: [${list(100, (k) => `v${k}`)}]},\n`,
        "}}}}\ndo: [{a: {set: {b: 1}}}]\n",
      ),
  ],
  [
    "a thousand choices",
    () =>
      most(
        `${HEAD}input: {schema: {document: {type: object, properties: {\n`,
        (at) => `f${at}: {type: string, default: vxx, enum: [${list(1_000, (k) => `v${k}`)}]},\n`,
        "}}}}\ndo: [{a: {set: {b: 1}}}]\n",
      ),
  ],
  ["anchors", () => most(`${HEAD}do:\n- a:\n    set:\n`, (at) => `      k${at}: &a${at} 1\n`)],
  [
    "aliases",
    () =>
      most(
        `${HEAD}do:\n- a: {set: {x: &a [${list(150, () => "{a: 1, b: 2}")}]}}\n`,
        (at) => `- b${at}: {set: {x: *a}}\n`,
      ),
  ],
  [
    "cases",
    () => most(`${HEAD}do:\n- s:\n    switch:\n`, (at) => `    - c${at}: {when: .a == ${at}, then: nosuch${at}}\n`),
  ],
  ["calls", () => most(`${HEAD}do:\n`, (at) => `- t${at}: {call: nosuch${at}}\n`)],
  [
    "endpoints",
    () =>
      most(
        `${HEAD}do:\n`,
        (at) => `- t${at}: {call: http, with: {method: get, endpoint: "http://x/{${"a".repeat(50)}${at}}"}}\n`,
      ),
  ],
  [
    "parts of endpoints",
    () =>
      `${HEAD}do:\n${list(8, (at) => `- t${at}: {call: http, with: {method: get, endpoint: '\${ "https://x/${"\\(.a)".repeat(900)}${at}" + ${".b + ".repeat(400)} "" }'}}\n`).replaceAll("\n,", "\n")}`,
  ],
  [
    "names in an endpoint beside many fields",
    () =>
      `${HEAD}input: {schema: {document: {type: object, properties: {${list(100, (at) => `field${at}: {type: string}`)}}}}}\ndo:\n- a: {call: http, with: {method: get, endpoint: "http://x/${"{fjeld1}".repeat(25_000)}"}}\n`,
  ],
  [
    "names in an endpoint that are like 500 fields before",
    () =>
      `${HEAD}do:\n- s: {set: {${list(500, (at) => `f${String(at).padStart(30, "x")}: 1`)}}}\n- a: {call: http, with: {method: get, endpoint: "http://x/${`{f${"x".repeat(30)}}`.repeat(6_900)}"}}\n`,
  ],
  [
    "fields that each task adds to those before",
    () =>
      most(
        `${HEAD}do:\n`,
        (at) =>
          `- t${at}: {if: .a, set: "\${ . + {k${at}: .k${at}} }", export: {as: "\${ $context + {c${at}: .} }"}}\n`,
      ),
  ],
  [
    "objects of objects that come together",
    () =>
      most(
        `${HEAD}do:\n- a: {set: {x: &a {${list(30, (at) => `k${at}: {${list(30, (k) => `m${k}: {n: 1}`)}}`)}}}}\n`,
        (at) => `- b${at}: {if: .x, set: {x: *a, y${at}: *a}}\n`,
      ),
  ],
  [
    "jumps to one task",
    () =>
      most(
        `${HEAD}do:\n- first: {set: {a: 1}}\n`,
        (at) => `- t${at}: {set: {k${at}: 1}, then: last}\n`,
        '- last: {set: {b: "${ .nosuch }"}}\n',
      ),
  ],
  [
    "bindings of one expression",
    () =>
      most(
        `${HEAD}do:\n- f: {set: {x: 1}}\n`,
        (at) => `- t${at}: {set: "\${ ${". as $v|".repeat(900)} [${list(90, () => "$w0")}] | ${at} }"}\n`,
      ),
  ],
  [
    "texts that look like expressions",
    () => most(`${HEAD}do:\n- a:\n    set:\n`, (at) => `      k${at}: "{{ ${"{{a".repeat(30)} }}${".a".repeat(30)}"\n`),
  ],
  ["durations", () => most(`${HEAD}do:\n`, (at) => `- t${at}: {wait: P${"1".repeat(30)}X}\n`)],
  ["keys", () => most(`${HEAD}do:\n- a:\n    set:\n`, (at) => `      k${at}: 1\n`)],
  ["a key again", () => most(`${HEAD}do:\n- a:\n    set:\n`, () => `      k: 1\n`)],
  ["numbers", () => most(`${HEAD}do: [{a: {set: {b: [`, () => "1,", "1]}}}]\n")],
  ["comments", () => most(`${HEAD}do: [{a: {set: {b: 1}}}]\n`, () => "#c\n")],
  ["lines of a text", () => `${HEAD}do:\n- a:\n    set:\n      b: >\n${"        k k\n".repeat(20_000)}`],
  ["escapes", () => `${HEAD}do:\n- a: {set: {b: "${"\\u0041".repeat(42_000)}"}}\n`],
];

/** Each is a loop of its own that could be slow. A third of them, of every part of a definition, have nearly all that all go through. */
const TRIED = scaled({ whole: CASES, part: CASES.filter((_, at) => at % 3 === 0) });

test.each(TRIED)("%s: no step holds the main thread, and all is bounded", (_, make) => {
  const text = make();
  const { parsed, flow, longest, whole } = quickest(text);
  expect(longest).toBeLessThan(STEP_MS);
  expect(whole).toBeLessThan(WHOLE_MS);
  expect(parsed.problems.length).toBeLessThanOrEqual(LIMITS.definitionProblems);
  // A definition that may be published is compiled whole at its first run.
  const texts = new Set(parsed.expressions.map((one) => one.text));
  for (const one of texts) expect(leastMs(STEP_MS, () => compileExpression(one))).toBeLessThan(STEP_MS);
  const { workflow } = parsed;
  // If it can be read, only the head is looked at, which is right here.
  if (!workflow) expect(readDocument(text).problems.length).toBeLessThanOrEqual(LIMITS.definitionProblems);
  const [, errors] = bySeverity(flow);
  if (!workflow || parsed.problems.length > 0 || errors.length > 0 || areTooMany(texts)) return;
  expect(leastMs(STEP_MS, () => compileWorkflow(workflow))).toBeLessThan(STEP_MS);
});

/** As `checkDefinition` refuses them: to ask it would read the text once more. */
const areTooMany = (texts: Set<string>): boolean =>
  texts.size > LIMITS.definitionExpressions || [...texts].join("").length > LIMITS.definitionExpressionCharacters;

test("expressions beyond 64 KiB together are refused, equal ones counted once", async () => {
  const text = (count: number, same: boolean): string =>
    `${HEAD}do:\n${Array.from({ length: count }, (_, at) => `- t${at}: {set: "\${ ${".a+".repeat(300)}${same ? 1 : at} }"}\n`).join("")}`;
  const problemsOf = async (of: string): Promise<string[]> =>
    (await checkDefinition(of, async () => undefined)).problems.map(({ message }) => message);
  expect(await problemsOf(text(60, false))).toEqual([]);
  expect(await problemsOf(text(200, true))).toEqual([]);
  expect(await problemsOf(text(100, false))).toEqual([
    expect.stringMatching(/^a definition may have 65536 characters of expressions, and this one has \d+;/),
  ]);
});

test.each([
  ["short lines that all differ", "a\n".repeat(131_072), "b\n".repeat(131_072)],
  ["empty lines", "\n".repeat(262_144), "a\n".repeat(131_072)],
  ["long lines", `${"a".repeat(100)}\n`.repeat(2_595), `${"b".repeat(100)}\n`.repeat(2_595)],
  ["lines that often meet", lines(7), lines(13)],
])("the difference of two texts of 256 KiB: %s", (_, before, after) => {
  let diff = "";
  expect(leastMs(STEP_MS, () => (diff = diffVersions(before, after)))).toBeLessThan(STEP_MS);
  expect(diff).toMatch(/^--- before\n\+\+\+ after\n@@ /);
});

test("30,000 mistakes are reported as one, without a stack for each: less than 100 ms", () => {
  const text = `${HEAD}do: ${"]".repeat(29_900)}`;
  let problems: unknown[] = [];
  const most = leastMs(100, () => ({ problems } = atOnce(parseWithPlaces(text))));
  expect(problems).toHaveLength(1);
  // 35 ms alone, 240 with stacks.
  expect(most).toBeLessThan(100);
});

function lines(seed: number): string {
  let state = seed;
  const next = (): number => (state = (state * 48_271) % 2_147_483_647);
  return Array.from({ length: 19_000 }, () => `line ${next() % 3}\n`).join("");
}

/** The share of the places that a run tries, chosen by its seed. A fault of one scheme or kind of text shows at many places. */
const PLACES_TRIED = scaled({ whole: 1, part: 1 / 8 });

test("a long run of a few characters at places of the profile that take a text, every key and scheme", () => {
  const random = seeded("definitions from the profile");
  expect(PLACES.length).toBeGreaterThan(500);
  expect(PLACES.map(({ path }) => path)).toContain("/use/authentications/x/oauth2/authority");
  const slow: string[] = [];
  for (const { path, definitionWith } of PLACES) {
    if (random.next() >= PLACES_TRIED) continue;
    const run = longText(random, 30_000);
    const text = definitionWith(run);
    const { longest } = quickest(text);
    if (longest > STEP_MS)
      slow.push(`${path}: ${JSON.stringify(run.slice(0, 20))}…${JSON.stringify(run.slice(-3))} ${longest} ms`);
  }
  expect(slow).toEqual([]);
});
