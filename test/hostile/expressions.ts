/** Random jq over large data: every operator and builtin meets lists, texts and objects of a run's whole input. */
import type { Random } from "../faults/random.ts";

/** Inputs of a run: half a megabyte in all, something of each sort, or next to nothing. */
export function largeInput(random: Random): Record<string, unknown> {
  const share = random.pick([0.01, 1, 1, 1]);
  const list = <Item>(length: number, item: (n: number) => Item): Item[] =>
    Array.from({ length: Math.ceil(length * share) }, (_, n) => item(n));
  return {
    numbers: list(20_000, (n) => (n * 7_919) % 100_003),
    texts: list(5_000, (n) => `text ${n % 97}`),
    objects: list(1_500, (n) => ({ id: n, name: `n${n}`, tags: ["a", "b"] })),
    wide: Object.fromEntries(list(5_000, (n) => [`key${n}`, n])),
    lists: list(100, (n) => Array.from({ length: 100 }, (_, m) => n + m)),
    text: list(6_000, () => "lorem ipsum, ").join(""),
    n: 3,
    s: "a",
  };
}

const FIELDS = ["numbers", "texts", "objects", "wide", "text", "lists", "n", "s"];
const LARGE = [
  ".",
  ".numbers",
  ".numbers",
  ".texts",
  ".objects",
  ".wide",
  ".text",
  ".lists",
  "$input",
  "$workflow.input",
];
const MADE = [
  "[range(20000)]",
  "[range(300)]",
  '("x" * 50000)',
  "[.numbers, .numbers]",
  "(.wide + {a: 1})",
  "([range(100)] | map({(tostring): .}) | add)",
];
const OPERATORS = ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or", "//"];
/** Evaluated in the server's own thread (expressions/native/builtins.ts). */
const NATIVE: readonly string[] = [
  "length",
  "keys",
  "type",
  "tostring",
  "tojson",
  "tonumber",
  "not",
  "first",
  "last",
  "add",
  "reverse",
  "sort",
  "min",
  "max",
  "any",
  "all",
  "floor",
  "ceil",
  "round",
  "ascii_downcase",
  "ascii_upcase",
  'ltrimstr("a")',
  'startswith("l")',
  'endswith(" ")',
  'join(",")',
  'split(",")',
  'has("n")',
  "has(1)",
];
/** Left to jq, in a thread beside it. */
const LEFT_TO_JQ: readonly string[] = [
  "unique",
  "flatten",
  "group_by(.)",
  "to_entries",
  "from_entries",
  "explode",
  "implode",
  "fromjson",
  "transpose",
  "[paths]",
  "[tostream]",
  "[values]",
  "@base64",
  "@json",
  "@csv",
  "@text",
  'index("m")',
  "indices(1)",
  "contains(1)",
  "inside([1])",
  'test("(l+)+m")',
  'gsub("l"; "m")',
  '[splits(",")]',
  "unique_by(.)",
  "sort_by(.)",
  "with_entries(.)",
  "[limit(9; combinations)]",
  "[recurse]",
  'getpath(["n"])',
  "del(.n)",
  "[limit(3; .[]?)]",
  "until(true; .)",
  "walk(.)",
  "sqrt",
  "tojson | fromjson",
  "map_values(.)",
  "any(. == 1)",
  "min_by(.)",
];
const builtin = (random: Random): string => random.pick(random.next() < 0.8 ? NATIVE : LEFT_TO_JQ);
const STREAMS = ["map", "map", "select", "first", "add"];

/** Each costs what it touches, and is written in a few letters: many times of one large value in one expression. */
const LINEAR: readonly string[] = [
  "length",
  "keys | length",
  "reverse | length",
  ". - [0] | length",
  ". == $r.numbers",
  ".[1:] | length",
  "add",
  "min",
  "tojson | length",
  "map(.) | length",
  ". + [1] | length",
  "sort | length",
  'split(",") | length',
  'join(",") | length',
  'has("x")',
  "any",
  "[.[]] | length",
  '"\\(.)" | length',
  ". * {a: 1} | length",
  ". + {a: 1} | length",
  "unique | length",
  'startswith("l")',
  "ascii_upcase | length",
  "first",
  ". < $r.texts",
  "not",
  "map(select(. == 1)) | length",
];
const looped = (random: Random): string =>
  `(. as $r | [range(${random.pick([30, 1_000, 10_000])})] | map($r.${random.pick(FIELDS.slice(0, -2))} | ${random.pick(LINEAR)}))`;

const leaf = (random: Random): string =>
  random.pick<() => string>([
    () => random.pick(LARGE),
    () => random.pick(LARGE),
    () => random.pick(MADE),
    () => `.${random.pick(FIELDS)}`,
    () => `.numbers[${random.pick(["0", "-1", "1:", ":-1", "100:200"])}]`,
    () => random.pick(["0", "1", "-1", "1000", "0.5", "1e300", '"a"', '","', '""', "null", "true", "[]", "{}", "[0]"]),
  ])();

export function randomExpression(random: Random, depth = random.between(1, 4)): string {
  if (depth === 0) return leaf(random);
  const inner = (): string => randomExpression(random, depth - 1);
  return random.pick<() => string>([
    () => leaf(random),
    () => looped(random),
    () => looped(random),
    () => looped(random),
    () => looped(random),
    () => looped(random),
    () => `(${inner()} ${random.pick(OPERATORS)} ${inner()})`,
    () => `(${inner()} ${random.pick(OPERATORS)} ${leaf(random)})`,
    () => `(${inner()} | ${builtin(random)})`,
    () => `(${inner()} | ${builtin(random)})`,
    () => `(${inner()} | ${random.pick(STREAMS)}(${inner()}))`,
    () =>
      `(${leaf(random)} as $r | [range(${random.pick([10, 300, 3_000])})] | map(${inner().replaceAll(/(?<![\w)\]"])\.(?=\w)/g, "$r.")}))`,
    () => `(${leaf(random)} as $r | $r | map($r ${random.pick(OPERATORS)} ${leaf(random)}))`,
    () =>
      `(reduce (${leaf(random)} | .[]?) as $x (${leaf(random)}; ${random.pick([". + [$x]", ". + $x", "[., $x]", "$x", '. + {("k\\($x)"): $x}', ". * 2", "[.]", ". - [$x]"])}))`,
    () =>
      `(reduce range(${random.pick([10, 2_000, 20_000])}) as $x (0; ${random.pick(["[.]", ". + $x", "{a: .}", "[., .]"])}) ${random.pick(["", "| tojson", "| length", "| tostring"])})`,
    () => `[${inner()}, ${inner()}]`,
    () => `{a: ${inner()}, b: ${inner()}}`,
    () => `"\\(${inner()}) and \\(${leaf(random)})"`,
    () => `(if ${inner()} then ${inner()} else ${leaf(random)} end)`,
    () => `(try ${inner()} catch .)`,
    () =>
      `[${leaf(random)} | .[]? | ${random.pick([".", ". + 1", "tostring", "[.]", ".id", "length", "select(. != 1)"])}]`,
    () => `(${leaf(random)} | [paths] | length)`,
    () => `first(range(${random.pick(["10", "1e9", "1e18"])}) | select(. < 0))`,
    () => `-(${inner()})`,
  ])();
}
