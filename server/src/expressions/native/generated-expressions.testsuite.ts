/** Random expressions and data for the differential test: the same seed, the same expressions. */
import { numberOf } from "../../lib/json/exact-number.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";

type Random = () => number;

/** mulberry32: numbers from 0 to 1. Seeds that once found a bug (`SEEDS` of the differential test) keep their expressions with it alone. */
export function randomOf(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const FIELDS = ["a", "b", "c", "n", "s", "items", "user", "und"];
const LOCALS = ["x", "y"];
const NUMBERS = [
  "0",
  "1",
  "2",
  "3",
  "7",
  "10",
  "100",
  "0.5",
  "1.5",
  "2.0",
  "1.50",
  ".5",
  "65537",
  "123456789012",
  "820982911946154508",
  "9007199254740993",
];
const TEXTS = [
  "",
  "a",
  "b",
  "abc",
  "a,b",
  ",",
  "é",
  "😀",
  "x😀y",
  "line\\nbreak",
  'q\\"q',
  "\\u0000",
  "\\u007f",
  "0",
  "12",
];
const VALUES: Json[] = [
  null,
  true,
  false,
  0,
  1,
  -1,
  2,
  3.5,
  -2.25,
  1e3,
  1e6,
  0.1,
  1e15,
  123456.789,
  9007199254740992,
  ...["9007199254740993", "820982911946154508", "-820982911946154509", "0.1000000000000000055511151231257827"].map(
    (text) => numberOf(text)!,
  ),
  ...["1e400", "-1e400", "1e-400", "-0", "9007199254740993.0"].map((text) => numberOf(text)!),
  "",
  "a",
  "b",
  "abc",
  "a,b,c",
  "éa",
  "😀b",
  "\ue000",
  "nul\u0000",
  "\u007f",
  "0",
  "17",
  "1.5",
  "9007199254740993",
  "A longer text than jq shows in its messages",
  [],
  {},
];
const BUILTINS = [
  "not",
  "length",
  "type",
  "tostring",
  "tojson",
  "tonumber",
  "keys",
  "first",
  "last",
  "add",
  "floor",
  "ceil",
  "round",
  "reverse",
  "sort",
  "min",
  "max",
  "any",
  "all",
  "ascii_downcase",
  "ascii_upcase",
];
const BINARY = ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or", "//"];
const WITH_VALUE = ["has", "join", "split", "startswith", "endswith", "ltrimstr"];
const WITH_FILTER = ["map", "first", "add", "select"];
const FORMS = [
  ".field",
  ".[value]",
  ".[from:to]",
  ".[]",
  ",",
  "|",
  "- of one",
  "text",
  "[ ]",
  "{ }",
  "if",
  "try",
  "?",
  "try error",
  "try error(value)",
  "as",
  "reduce",
  "[empty]",
];

/** Every operator and builtin that is evaluated here. */
export const OPERATIONS = [
  ...BINARY,
  ...BUILTINS,
  ...WITH_VALUE.map((name) => `${name}/value`),
  ...WITH_FILTER.map((name) => `${name}/filter`),
  ...FORMS,
];

export class Generator {
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = randomOf(seed);
  }

  data(depth = 4): Json {
    if (depth === 0 || this.#chance(0.25)) return this.#one(VALUES);
    if (this.#chance(0.4)) return Array.from({ length: this.#below(4) }, () => this.data(depth - 1));
    const object: JsonObject = {};
    for (let count = this.#below(6); count > 0; count--) object[this.#one(FIELDS)] = this.data(depth - 1);
    return object;
  }

  expression(depth = 1 + this.#below(4), locals: string[] = []): string {
    if (depth === 0) return this.#leaf(locals);
    if (this.#chance(0.15)) return this.#path(locals);
    return this.of(this.#one(OPERATIONS), depth, locals);
  }

  /** An expression whose last step is this operation. */
  of(operation: string, depth = 1 + this.#below(3), locals: string[] = []): string {
    const inner = (): string => (this.#chance(0.3) ? this.#path(locals) : this.expression(depth - 1, locals));
    const field = (): string => this.#one(FIELDS);
    if (BINARY.includes(operation))
      return `(${inner()} ${operation} ${this.#chance(0.3) ? this.#leaf(locals) : inner()})`;
    if (BUILTINS.includes(operation)) return `(${inner()} | ${operation})`;
    const [name, argument] = operation.split("/");
    if (argument) return `(${inner()} | ${name}(${inner()}))`;
    switch (operation) {
      case ".field":
        return `${this.#path(locals)}${this.#one([".", "?."])}${field()}`.replace(/^\.\./, ".").replace(/^\.\?\./, ".");
      case ".[value]":
        return `(${inner()} | .[${inner()}])`;
      case ".[from:to]":
        return `(${inner()} | .[${this.#one(["", this.#one(NUMBERS), inner()])}:${this.#one(["-1", "2", inner()])}])`;
      case ".[]":
        return `[${inner()} | .[]${this.#one(["", "?"])} | ${inner()}]`;
      case ",":
        return `[${inner()}, ${inner()}]`;
      case "|":
        return `(${inner()} | ${inner()})`;
      case "- of one":
        return `-(${inner()})`;
      case "text":
        return `"${this.#one(TEXTS)}\\(${inner()})${this.#one(TEXTS)}\\(${inner()})"`;
      case "[ ]":
        return `[${inner()}]`;
      case "{ }":
        return this.#one([
          () => `{${field()}: ${inner()}, "${field()}": ${inner()}, ${field()}}`,
          () => `{(${this.#path(locals)}): ${inner()}}`,
          () => `{("${field()}\\(${inner()})"): ${inner()}}`,
        ])();
      case "if":
        return `(if ${inner()} then ${inner()} ${this.#chance(0.8) ? `else ${inner()} ` : ""}end)`;
      case "try":
        return `(try ${inner()} catch ${inner()})`;
      case "?":
        return `(${inner()})?`;
      case "try error":
        return `(try (${inner()} | error) catch ${inner()})`;
      case "try error(value)":
        return `(try error(${inner()}) catch ${inner()})`;
      case "as":
        return this.#binding(depth, locals);
      case "reduce":
        return `(reduce ${this.#path(locals)}[] as $x (${this.#leaf(locals)}; ${this.expression(1, [...locals, "x"])}))`;
      case "[empty]":
        return `[${inner()}, empty, (${inner()} | empty)]`;
      default:
        throw new Error(`no expression for ${operation}`);
    }
  }

  #binding(depth: number, locals: string[]): string {
    const name = this.#one(LOCALS);
    return `(${this.expression(depth - 1, locals)} as $${name} | ${this.expression(depth - 1, [...locals, name])})`;
  }

  #leaf(locals: string[]): string {
    if (this.#chance(0.35)) return this.#path(locals);
    if (this.#chance(0.4)) return this.#one(NUMBERS);
    if (this.#chance(0.5)) return `"${this.#one(TEXTS)}"`;
    return this.#one([".", "null", "true", "false", "[]", "{}", "empty", "[1,2]", "{a: 1}", "(1,2)", ".[]?"]);
  }

  #path(locals: string[]): string {
    let path = this.#one([".", "$context", "$input", ...locals.map((name) => `$${name}`)]);
    for (let count = this.#below(4); count > 0; count--) path += this.#step(path === ".");
    return path;
  }

  #step(isFirst: boolean): string {
    const optional = this.#chance(0.2) ? "?" : "";
    const bracket = this.#one([
      "0",
      "-1",
      "1",
      "1.7",
      `"${this.#one(FIELDS)}"`,
      ".n",
      "1:",
      ":-1",
      "0:2",
      "1.2:3.5",
      ":.n",
    ]);
    if (this.#chance(0.7)) return `${isFirst ? "" : "."}${this.#one(FIELDS)}${optional}`;
    return `[${bracket}]${optional}`;
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  #chance(probability: number): boolean {
    return this.#random() < probability;
  }

  #one<Item>(items: readonly Item[]): Item {
    return items[this.#below(items.length)]!;
  }
}
