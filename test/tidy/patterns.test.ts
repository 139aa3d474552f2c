/**
 * No regular expression stops the main thread: each in the shipped code is refused if its form takes more than linear time (scslre),
 * and is timed on long runs of what it matches.
 */
import { analyse } from "scslre";
import { expect, test, vi } from "vitest";
import { PROFILE } from "../../server/src/definition/profile/profile.ts";
import { encodingFor } from "../../server/src/http/pages/files.ts";
import { saidIn } from "../../server/src/run-drafts/model/read-answer.ts";
import { leastHereMs } from "../../server/src/lib/processor-time.testsuite.ts";
import { literalsIn, load, makesPatterns, patternsMadeBy, runningSources, triesOf, type Pattern } from "./patterns.ts";
import { parse } from "./source.ts";

/** Patterns that a function makes, by file. A new one needs a line here: a call that makes it, or the patterns that it is made of. */
const MADE_LATER: Record<string, () => unknown> = {
  "server/src/definition/schema/schema-walk.ts": () =>
    schemaPatterns(PROFILE).map((pattern) => new RegExp(pattern, "u")),
  "server/src/run-drafts/model/read-answer.ts": () => saidIn("a b-c (d) e", "b-c (d) e"),
  "server/src/http/pages/files.ts": () =>
    encodingFor(
      { type: "", isHashed: false, encodings: ["br", "gzip"], read: () => Promise.resolve(new Uint8Array()) },
      "x",
    ),
};

function schemaPatterns(schema: unknown): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  return Object.entries(schema).flatMap(([key, value]) =>
    key === "pattern" && typeof value === "string" ? [value] : schemaPatterns(value),
  );
}

const sources = runningSources();
const all: Pattern[] = sources.flatMap(literalsIn);
for (const { path } of sources.filter(makesPatterns)) {
  const make = MADE_LATER[path];
  // A module that is loaded again makes its patterns again.
  vi.resetModules();
  const made = await patternsMadeBy(() => (make ? make() : load(path)));
  for (const pattern of made) all.push({ place: path, pattern });
}

test("patterns are found in the sources, also those that are made", () => {
  const source = parse("sample.ts", 'const a = /x+/g; const b = new RegExp("y");');
  expect(literalsIn(source).map(({ pattern }) => String(pattern))).toEqual(["/x+/g"]);
  expect(makesPatterns(source)).toBe(true);
  const places = new Set(all.map(({ place }) => place));
  const missing = sources.filter((one) => makesPatterns(one) && !places.has(one.path)).map(({ path }) => path);
  expect(missing, "what a function makes wants a line in MADE_LATER (test/tidy/patterns.test.ts)").toEqual([]);
});

const ADVICE =
  "this takes more than linear time on some texts: begin it at the text's beginning (^), let no two repetitions match the same, or read the text by a loop (withoutLast of lib/text.ts)";

/** The complaint about a pattern whose form takes more than linear time. */
const reportsOf = ({ source, flags }: RegExp): string[] =>
  analyse({ source, flags: flags.replace("d", "") }).reports.map(({ type }) => type);

test.each(["\\/+$", "^(?:a+)+$", "^\\s*(.*)\\s*$x", "[^/]+\\/[^/]*$"])("the rule finds %s", (source) =>
  expect(reportsOf(new RegExp(source))).not.toEqual([]),
);

test("no pattern has a form that takes more than linear time", () => {
  const bad = all.filter(({ pattern }) => reportsOf(pattern).length > 0);
  expect(
    bad.map(({ place, pattern }) => `${place} ${String(pattern)}`),
    ADVICE,
  ).toEqual([]);
});

/** Finds a pattern of exponential time before it takes minutes. */
const LENGTHS = [20, 28, 36, 44, 200, 2_000, 8_000];
const QUICK_MS = 8;

/** As the code uses it: through the whole text if it is global. */
const use = (pattern: RegExp, text: string): unknown => {
  pattern.lastIndex = 0;
  return pattern.global ? text.replace(pattern, "") : pattern.test(text);
};

/** A text that costs more than twice as much when it is twice as long. */
function slowTextOf(pattern: RegExp): string | undefined {
  const tries = triesOf(pattern);
  if (!tries) return undefined;
  for (const length of LENGTHS)
    for (const unit of tries.units)
      for (const start of tries.starts)
        for (const end of tries.ends) {
          const costOf = (characters: number, enough: number): number => {
            const text = start + unit.repeat(Math.ceil(characters / unit.length)) + end;
            return leastHereMs(enough, () => use(pattern, text));
          };
          const once = costOf(length, QUICK_MS);
          if (once < QUICK_MS) continue;
          if (length < 1_000 || costOf(2 * length, 3 * once) >= 3 * once)
            return JSON.stringify({ start, unit, end, length });
        }
  return undefined;
}

test.each([/"(?:[^"\\]|\\[^])*(?:"|$)/g, /[?&]x=[^&]*abc/, /^(?:a|aa)+$/])("timing finds %s", (pattern) =>
  expect(slowTextOf(pattern)).toBeDefined(),
);

test("no pattern takes more than twice as long on runs twice as long of what it is made of", () => {
  const slow: string[] = [];
  for (const { place, pattern } of all) {
    const text = slowTextOf(pattern);
    if (text !== undefined) slow.push(`${place} ${String(pattern)} ${text}`);
  }
  expect(slow, ADVICE).toEqual([]);
});
