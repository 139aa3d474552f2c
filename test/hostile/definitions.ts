/** Texts of definitions that try what YAML and the language allow, and what they do not. */
import { stringify } from "yaml";
import { randomDefinition } from "../faults/random-definition.ts";
import type { Random } from "../faults/random.ts";
import { randomFromProfile } from "./from-profile.ts";
import { randomExpression } from "./expressions.ts";
import { NAUGHTY } from "./naughty.ts";
import { anyJson } from "./values.ts";

const PROTOTYPE_NAMES = ["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf", "prototype"];
const many = (random: Random): number => random.pick([3, 100, 1_000, 4_900]);
const times = (count: number, line: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => line(n)).join("");

/** A definition's beginning. Each case has its own version, so that a text is never published twice. */
const head = (random: Random, name = "hostile"): string =>
  `document: {dsl: '1.0.3', namespace: test, name: ${name}, version: '1.${random.between(0, 9_999)}.${random.between(0, 9_999)}'}\n`;

const tasks = (text: string): string => `do:\n${text}`;

type Make = (random: Random) => string;

const YAML: Make[] = [
  // Each alias stands for ten of the one before.
  () => `a0: &a0 [x]\n${times(9, (n) => `a${n + 1}: &a${n + 1} [${Array(10).fill(`*a${n}`).join(", ")}]\n`)}`,
  () => "a: &a [*a, *a]\n",
  () => "a: &a {<<: *a, b: &b {<<: [*a, *b]}}\n",
  (random) => times(many(random), (n) => `k${n}: &k${n} {a: ${n === 0 ? 1 : `*k${n - 1}`}}\n`),
  (random) => `metadata: ${"[".repeat(random.pick([50, 99, 101, 100_000]))}`,
  (random) => times(random.pick([50, 99, 101, 600]), (n) => `${" ".repeat(n)}a:\n`),
  (random) => `metadata: ${"{a: ".repeat(random.pick([50, 101, 50_000]))}`,
  (random) => times(random.pick([50, 101, 20_000]), () => "- ") + "\n",
  (random) => times(many(random), () => "? [a, b]\n: - c\n"),
  (random) =>
    `metadata: {a: ${random.pick(["!!binary aGFsbG8=", "!!set {a, b}", "!!js/function 'f'", "!<tag:x> 1", "0o777", "2026-01-01", ".inf", ".nan", "1e999", "~", "!!float 'x'"])}}\n`,
  (random) => "---\n".repeat(many(random)),
  (random) => `%YAML 1.1\n%TAG ! tag:x,2026:\n---\nmetadata: {a: yes${", b: no".repeat(random.between(0, 3))}}\n`,
  (random) => `# ${"c".repeat(random.pick([10, 250_000]))}\n`,
  (random) => "#\n".repeat(random.pick([10, 100_000])),
  (random) => `metadata: {a: "${"\\x41".repeat(random.pick([10, 60_000]))}"}\n`,
  (random) => `metadata:\n  a: |\n${"    x\n".repeat(random.pick([10, 40_000]))}`,
  (random) => `metadata: {a: '${random.pick(NAUGHTY).replaceAll("'", "''")}'}\n`,
  (random) => `metadata: {${times(random.pick([10, 15_000]), (n) => `k${n}: ${n}, `)}}\n`,
  (random) => `metadata: {${times(random.pick([10, 10_000]), () => "a: 1, ")}}\n`,
  (random) => `metadata: [${times(random.pick([10, 14_000]), () => "1,")}]\n`,
];
const number = (random: Random): string =>
  random.pick(["-1", "0", "1e308", "1e-308", "0.1", "9007199254740993", ".inf"]);

const SCHEMAS: Make[] = [
  (random) =>
    `{type: object, properties: {${times(random.pick([3, 100, 101, 3_000]), (n) => `p${n}: {type: string}, `)}}}`,
  (random) =>
    `{type: object, properties: {a: {type: string, enum: [${times(random.pick([3, 1_000, 1_001, 9_000]), (n) => `v${n},`)}]}}}`,
  (random) =>
    `{type: object, properties: {a: {type: number, multipleOf: ${number(random)}, minimum: ${number(random)}}}}`,
  (random) =>
    `{type: object, properties: {a: {type: string, minLength: ${number(random)}, maxLength: ${number(random)}}}}`,
  (random) =>
    `{type: object, properties: {${random.pick(PROTOTYPE_NAMES)}: {type: string, default: x}}, required: [toString]}`,
  () => "{$ref: '#'}",
  () => "{type: object, properties: {a: {type: string, pattern: '^(a+)+$'}}}",
  (random) => `${"{allOf: [".repeat(random.pick([5, 40, 200]))}{type: object}${"]}".repeat(40)}`,
];

const TASKS: Make[] = [
  (random) => times(many(random), (n) => `  - t${n}: {set: {a: 1}}\n`),
  (random) => times(many(random), (n) => `  - t${n}: {set: {a: 1}, then: u${n}}\n`),
  (random) => times(many(random), () => "  - same: {set: {a: 1}}\n"),
  (random) => times(Math.min(2_100, many(random)), (n) => `  - t${n}: {set: '\${ .a + ${n} }'}\n`),
  (random) => times(20, (n) => `  - t${n}: {set: '\${ ${randomExpression(random, 4).replaceAll("'", "''")} }'}\n`),
  (random) => `  - a: {set: {${times(random.pick([10, 1_900]), (n) => `k${n}: '\${ .k${n} }', `)}}}\n`,
  (random) =>
    `  - a: {set: '\${ ${"(".repeat(random.pick([10, 64, 65, 8_000]))}1${")".repeat(random.pick([10, 64, 65]))} }'}\n`,
  (random) => `  - a: {set: '\${ 1${" + 1".repeat(random.pick([10, 999, 1_001, 3_900]))} }'}\n`,
  (random) => `  - a: {set: '\${ ${"if . then ".repeat(random.pick([10, 200, 1_000]))} }'}\n`,
  (random) => `  - a: {set: '\${ "${'\\("'.repeat(random.pick([5, 30, 1_000]))} }'}\n`,
  (random) => `  - a: {set: '\${ ${random.pick(NAUGHTY).replaceAll("'", "''")} }'}\n`,
  (random) => `  - a: {set: '\${ $${random.pick([...PROTOTYPE_NAMES, "env", "ENV", "__loc__", "__prog_args"])} }'}\n`,
  (random) =>
    `  - a: {set: '\${ ${random.pick(["input", "debug", "$ENV", 'getpath(["a"])', "limit(0; .)", "repeat(1)", "def f: f; f", "input_line_number", "halt", "@sh", "now", 'import "a" as b;'])} }'}\n`,
  (random) => `  - ${JSON.stringify(random.pick(NAUGHTY))}: {set: {a: 1}}\n`,
  (random) => `  - ${random.pick(PROTOTYPE_NAMES)}: {set: {a: 1}, then: ${random.pick(PROTOTYPE_NAMES)}}\n`,
  (random) => `  - a: {call: ${random.pick(PROTOTYPE_NAMES)}, with: {${random.pick(PROTOTYPE_NAMES)}: 1}}\n`,
  (random) =>
    `  - a: {${random.pick([...PROTOTYPE_NAMES, "emit", "listen", "run"])}: {${random.pick(PROTOTYPE_NAMES)}: {}}}\n`,
  (random) =>
    `  - a: {try: [{b: {raise: {error: ${random.pick(PROTOTYPE_NAMES)}}}}], catch: {retry: ${random.pick(PROTOTYPE_NAMES)}}}\n`,
  (random) =>
    `  - a: {set: {a: 1}, timeout: ${random.pick([...PROTOTYPE_NAMES, "{after: PT1e9S}", "{after: P99999999999999D}", "{after: {days: 1e308}}", "{after: PT0S}", "{after: -PT1S}"])}}\n`,
  (random) =>
    times(random.pick([3, 15, 16, 17, 90]), (n) => `${"  ".repeat(2 * n + 1)}- d${n}:\n${"  ".repeat(2 * n + 3)}do:\n`),
  (random) =>
    `  - a: {fork: {branches: [${times(random.pick([2, 100, 101, 3_000]), (n) => `{b${n}: {set: {n: ${n}}}}, `)}]}}\n`,
  (random) => `  - a: {set: {a: 1}, output: {schema: {document: ${random.pick(SCHEMAS)(random)}}}}\n`,
  (random) =>
    `  - a: {call: http, with: {method: get, endpoint: '${random.pick(["http://127.0.0.1/{a}", "http://{a}/", "http://[::1", "${ .a }", "file:///etc/passwd", "http://a/{__proto__}", `http://x/${"{a}".repeat(5_000)}`])}'}}\n`,
  (random) =>
    `  - a: {call: 'approval:1.0.0@default', with: {question: '${"x".repeat(random.pick([1, 10_001, 200_000]))}', form: ${random.pick(SCHEMAS)(random)}}}\n`,
  (random) => `  - a: {set: ${JSON.stringify(anyJson(random))}}\n`,
];

/** In a project `test`. */
export function randomText(random: Random): string {
  if (random.next() < 0.2)
    return randomFromProfile(random).replace('"version":"1.0.0"', `"version":"1.1.${random.between(0, 1e9)}"`);
  const dice = random.next();
  if (dice < 0.1)
    return `${head(random)}${stringify(randomDefinition(random, "http://127.0.0.1:9", "three"), { lineWidth: 0 })}`;
  if (dice < 0.35) return `${head(random)}${random.pick(YAML)(random)}${tasks("  - a: {set: {a: 1}}\n")}`;
  if (dice < 0.5)
    return `${head(random)}input: {schema: {document: ${random.pick(SCHEMAS)(random)}}}\n${tasks("  - a: {set: {a: 1}}\n")}`;
  if (dice < 0.55) return JSON.stringify(anyJson(random));
  if (dice < 0.6) return mangled(random, `${head(random)}${tasks(random.pick(TASKS)(random))}`);
  if (dice < 0.65) return `${head(random, random.pick(NAUGHTY))}${tasks("  - a: {set: {a: 1}}\n")}`;
  return `${head(random)}${tasks(random.pick(TASKS)(random))}`;
}

function mangled(random: Random, text: string): string {
  const at = random.between(0, text.length);
  return random.pick([
    () => text.slice(0, at),
    () =>
      text.slice(0, at) +
      random.pick(["\t", "\0", "\ud800", ": ", "- ", "&a ", "*a ", "|", "\r", "\u2028", "{", "]"]) +
      text.slice(at),
    () => text.replaceAll("\n", "\r"),
    () => text.slice(0, at) + text.slice(0, at) + text.slice(at),
  ])();
}
