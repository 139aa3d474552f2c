/** Every operator and builtin that is evaluated here, on large operands of every kind: what a step costs in time. */
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { randomOf } from "./generated-expressions.testsuite.ts";
import { LEFT_TO_JQ, Raised, startCounting, STEPS, stepsSpent } from "./signals.ts";
import { compileExpression } from "../template.ts";

const many = <Item>(count: number, item: (at: number) => Item): Item[] =>
  Array.from({ length: count }, (_, at) => item(at));
const keyed = (count: number, value: (at: number) => Json): JsonObject =>
  Object.fromEntries(many(count, (at) => [`key${at}`, value(at)]));
const nested = (depth: number, wrap: (value: Json) => Json, inner: Json): Json => {
  let value = inner;
  for (let level = 0; level < depth; level++) value = wrap(value);
  return value;
};
/** Flat and unshared: made from bytes, like a text that comes over the wire. */
const flat = (text: string): string => Buffer.from(text).toString();

export const OPERANDS: Record<string, () => Json> = {
  number: () => 123_456.75,
  zero: () => 0,
  "short text": () => flat("some text"),
  "long text": () => flat("abcDEfgh, ".repeat(3_000)),
  "text of digits": () => flat("1".repeat(30_000)),
  "text of emoji": () => flat("😀x".repeat(10_000)),
  "text to escape": () => flat('\u0001"\u007f\n'.repeat(5_000)),
  "list of numbers": () => many(5_000, (at) => (at * 7919) % 5_003),
  "list of fractions": () => many(3_000, (at) => at / 7 + 0.1),
  "list of texts": () => many(3_000, (at) => flat(`text ${(at * 7919) % 3_001}`)),
  "list of long texts": () => many(20, (at) => flat(`${"abcdefgh".repeat(200)}${at}`)),
  "list of lists": () => many(1_500, (at) => [at, [at]]),
  "list of objects": () => many(500, (at) => keyed(10, (key) => at + key)),
  "list of nulls": () => many(5_000, () => null),
  "list of trues": () => many(5_000, () => true),
  "deep list": () => nested(60, (value) => [value, 1], "end"),
  "small object": () => keyed(10, (at) => at),
  "wide object": () => keyed(900, (at) => at),
  "huge object": () => keyed(20_000, (at) => at),
  "deep object": () => nested(60, (value) => ({ next: value, at: 1 }), "end"),
  "object of objects": () => keyed(200, () => keyed(10, (at) => at)),
};

/** `.` and `$o` are the operands; if both are of one kind, the second has equal content in separate objects. */
const BINARY = [
  ". + $o",
  ". - $o",
  ". * $o",
  ". / $o",
  ". % $o",
  ". == $o",
  ". != $o",
  ". < $o",
  ". <= $o",
  ". > $o",
  ". >= $o",
  ". and $o",
  ". or $o",
  ". // $o",
  ".[$o]?",
  ".[$o:]?",
  ".[:$o]?",
  "has($o)?",
  "join($o)?",
  "split($o)?",
  "(startswith($o))?",
  "(endswith($o))?",
  "(ltrimstr($o))?",
  "[., $o]",
  "{(.): $o}?",
  "{a: ., $o}",
  '"\\(.) and \\($o)"',
  "try error($o) catch .",
  "(. + $o | length)?",
  "(. * 100 | startswith($o))?",
  "(. + $o | startswith($o))?",
  ".[.[0]? | numbers? // 0]?",
  "[.[]? | . == $o]",
  "[.[]? | . + $o]?",
  "reduce .[]? as $x ($o; $x)",
];
const UNARY = [
  ".",
  ".key1?",
  ".[0]?",
  ".[-1]?",
  '.["key1"]?',
  ".[1:]?",
  ".[:-1]?",
  ".[10:20]?",
  "-.",
  "[.[]?]",
  "[.[]? | .]",
  "first(.[]?)",
  "add(.[]?)",
  "map(.)?",
  "map(select(.))?",
  "map(select(not))?",
  "map(.key1?)?",
  "map(.a.b.c?)?",
  "map(. as $x | $x)?",
  "map([.])?",
  "map({a: .})?",
  'map("\\(.)")?',
  'map({("k\\(.)"): .})?',
  "map({key1}?)?",
  "map(if . then 1 else 2 end)?",
  "map(try error catch .)?",
  "map(-.)?",
  "map(.[0:1]?)?",
  "map(. // 1)?",
  "map(. * 3)?",
  "map(. - 1)?",
  "map(. % 7)?",
  "map(. / 3)?",
  "map(not)?",
  "map(type)?",
  "map(tostring)?",
  "map(tojson)?",
  "map(length)?",
  "map(keys)?",
  "map(has(0)?)?",
  "map(first?)?",
  "map(.[]?)?",
  "map(add?)?",
  "map(first(.[]?))?",
  "map(empty)",
  "[.[]? | empty]",
  "[.[]? | select(. == 1)]",
  "reduce .[]? as $x (0; . + 1)",
  "reduce .[]? as $x ([]; $x)",
  "reduce .[]? as $x (null; {a: $x})",
  "if . then 1 else 2 end",
  "try error catch .",
  ". as $x | $x",
  "[.]",
  "{a: .}",
  '"\\(.)"',
  "{key1, key2}?",
  "(.[]?, .[]?) as $x | $x",
  "not",
  "length?",
  "type",
  "empty",
  "error?",
  "tostring",
  "tojson",
  "tonumber?",
  "keys?",
  "first?",
  "last?",
  "add?",
  "floor?",
  "ceil?",
  "round?",
  "reverse?",
  "sort?",
  "min?",
  "max?",
  "any?",
  "all?",
  "ascii_downcase?",
  "ascii_upcase?",
  "keys? | length",
  "reverse? | length",
  "tojson | length",
  "length? | . + 1",
  "first(empty)",
  "add(.[]?, .[]?)",
  "select(.)",
  "select(not)",
  "map(., .)?",
  "[.[]?, .[]?]",
  "[.[]?] | map(.) | map(.)",
  "[. , .] | .[0] == .[1]",
];

/** A step of any expression takes at most so many times what one of the cheapest takes. */
export const RATIO = 10;
/** Nanoseconds: with so many a step, all that an expression may spend is over in 100 ms. */
export const MAX_NS = 100e6 / STEPS;

export type Case = { name: string; text: string; data: Json; other: Json };

/** Each operator and builtin on this many operands, or pairs of them. */
export function draws(seed: number, count: number): Case[] {
  const random = randomOf(seed);
  // Made twice, so that equal values are not identical.
  const kinds = Object.entries(OPERANDS).map(([kind, make]) => ({ kind, data: make(), other: make() }));
  const one = () => kinds[Math.floor(random() * kinds.length)]!;
  return [...UNARY, ...BINARY].flatMap((text) =>
    many(count, () => {
      const { kind, data } = one();
      const right = text.includes("$o") ? one() : undefined;
      const name = `${text} on ${kind}${right ? `, ${right.kind}` : ""}`;
      return { name, text, data, other: right?.other ?? null };
    }),
  );
}

export type Cost = { ns: number; steps: number };

/** A shorter run does not show the cost of a step. */
const LEAST_NS = 200_000;

/**
 * Nanoseconds per step, the least of several tries; undefined if jq has to evaluate it for a reason other than cost, or if
 * it was refused before it began.
 */
export function nsPerStep({ text, data, other }: Case, tries = 3): Cost | undefined {
  const { native } = compileExpression(`map(${text})`).expressions[0]!;
  const variables = { o: other };
  const run = (count: number): Cost | undefined => {
    const list = many(count, () => data);
    startCounting();
    const began = performance.now();
    try {
      native!(list, variables);
    } catch (error) {
      if (error === LEFT_TO_JQ ? stepsSpent() <= STEPS : !(error instanceof Raised)) return undefined;
    }
    const ns = (performance.now() - began) * 1e6;
    return { ns: ns / stepsSpent(), steps: stepsSpent() };
  };
  const took = (one: Cost): number => one.steps * one.ns;
  let count = 1;
  let cost = run(count);
  const mayGrow = (): boolean => cost !== undefined && cost.steps < STEPS && count < 65_536;
  do {
    while (mayGrow() && took(cost!) < LEAST_NS) cost = run((count *= 4));
    for (let at = 0; cost && at < tries; at++) {
      const again = run(count)!;
      if (again.ns < cost.ns) cost = again;
    }
    // A time that had looked long enough was the machine's own: longer ones show what a step takes.
  } while (mayGrow() && took(cost!) < LEAST_NS / 2);
  return cost && cost.steps < 2 * STEPS && cost.steps * cost.ns >= LEAST_NS / 2 ? cost : undefined;
}
