/** Finds the regular expressions of the shipped code, and makes the texts that each is tried on. */
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { RegExpParser, visitRegExpAST, type AST } from "@eslint-community/regexpp";
import { isTest, lineOf, read, ROOT, serverSources, filesBelow, walk, webSources, type Source } from "./source.ts";

export type Pattern = { place: string; pattern: RegExp };

/** The sources of the server, the command line and the browser. */
export const runningSources = (): Source[] => [
  ...serverSources(),
  ...webSources(),
  ...filesBelow("tools")
    .filter((path) => /\.(js|ts)$/.test(path) && !isTest(path))
    .map(read),
];

/** Patterns written as `/…/`. */
export function literalsIn(source: Source): Pattern[] {
  const found: Pattern[] = [];
  walk(source, {
    Literal: (node) => {
      if (!("regex" in node)) return;
      const { pattern, flags } = node.regex;
      found.push({ place: `${source.path}:${lineOf(source, node.start)}`, pattern: new RegExp(pattern, flags) });
    },
  });
  return found;
}

/** Whether it makes some by `new RegExp`. */
export function makesPatterns(source: Source): boolean {
  let makes = false;
  walk(source, {
    NewExpression: ({ callee }) => {
      makes ||= callee.type === "Identifier" && callee.name === "RegExp";
    },
  });
  return makes;
}

/** Patterns made while `work` runs, such as the first load of a module. */
export async function patternsMadeBy(work: () => unknown): Promise<RegExp[]> {
  const made: RegExp[] = [];
  const original = globalThis.RegExp;
  globalThis.RegExp = new Proxy(original, {
    construct(target, given: [string, string?]) {
      const pattern = new target(...given);
      made.push(pattern);
      return pattern;
    },
  });
  try {
    await work();
  } finally {
    globalThis.RegExp = original;
  }
  return made;
}

export const load = (path: string): Promise<unknown> => import(pathToFileURL(join(ROOT, path)).href);

/** Characters that patterns most often do not match. */
const OTHERS = ["\0", "\n", "\\"];
const SAMPLES_MOST = 8;

export type Tries = {
  /** Short texts to repeat: a character of each class, what matches before and within each repetition, and any two of these. */
  units: string[];
  /** How the pattern begins, up to a repetition. */
  starts: string[];
  /** The input that hardly goes on. */
  ends: string[];
};

/** The inputs that a pattern is tried on; undefined if it repeats nothing without end, and so can't take more than linear time. */
export function triesOf({ source, unicode, unicodeSets }: RegExp): Tries | undefined {
  const ast = new RegExpParser({ ecmaVersion: 2025 }).parsePattern(source, 0, source.length, { unicode, unicodeSets });
  const samples = new Set<string>();
  const starts = new Set<string>();
  // One of the first and one of the last characters of each class.
  for (const pick of [FIRST, LAST])
    visitRegExpAST(ast, {
      onQuantifierEnter: (node) => {
        if (node.max !== Infinity) return;
        samples.add(before(node, pick) + shortest(node.element, pick)).add(shortest(node.element, pick));
        starts.add(before(node, pick));
      },
    });
  if (samples.size === 0) return undefined;
  visitRegExpAST(ast, {
    onCharacterSetEnter: (node) => void samples.add(pickFrom(node, FIRST)),
    onCharacterClassEnter: (node) => void samples.add(pickFrom(node, FIRST)),
    onCharacterEnter: ({ value }) => void samples.add(String.fromCodePoint(value)),
  });
  samples.delete("");
  const some = [...samples].slice(0, SAMPLES_MOST);
  const units = some.flatMap((one) => some.map((other) => (one === other ? one : one + other)));
  return { units, starts: ["", ...[...starts].filter(Boolean).slice(0, 2)], ends: ["", ...OTHERS] };
}

type Pick = readonly string[];
type Class = AST.CharacterSet | AST.CharacterClass | AST.ExpressionCharacterClass;

const UNITS = Array.from({ length: 0x1_00_00 }, (_, unit) => String.fromCharCode(unit));
const ASCII = UNITS.slice(0x20, 0x7f);
const FIRST: Pick = ["a", "1", " ", ...ASCII, ...UNITS];
const LAST: Pick = [...ASCII.toReversed(), ...UNITS];

function pickFrom({ raw }: Class, pick: Pick): string {
  const one = new RegExp(`^${raw}$`, /\\[pP]\{|\\u\{/.test(raw) ? "u" : "");
  return pick.find((unit) => one.test(unit)) ?? "";
}

/** A short text that a part of a pattern matches, as far as that can be told without looking around. */
function shortest(node: AST.Node, pick: Pick): string {
  if (node.type === "Character") return String.fromCodePoint(node.value);
  if (node.type === "CharacterSet" || node.type === "CharacterClass" || node.type === "ExpressionCharacterClass")
    return pickFrom(node, pick);
  if (node.type === "Group" || node.type === "CapturingGroup") return shortest(node.alternatives[0]!, pick);
  if (node.type === "Alternative") return node.elements.map((element) => shortest(element, pick)).join("");
  return node.type === "Quantifier" ? shortest(node.element, pick).repeat(Math.min(node.min, 300)) : "";
}

/** A match from the pattern's beginning up to a part of it. */
function before(node: AST.Node, pick: Pick): string {
  const { parent } = node;
  if (!parent) return "";
  if (parent.type !== "Alternative") return before(parent, pick);
  const { elements } = parent;
  const earlier = elements.slice(0, elements.indexOf(node as AST.Element));
  return before(parent, pick) + earlier.map((element) => shortest(element, pick)).join("");
}
