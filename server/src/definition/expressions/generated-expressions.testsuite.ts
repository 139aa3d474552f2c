/** Random expressions and data for the differential test: the same seed, the same expressions. */
import type { Json, JsonObject } from "../../lib/json.ts";

type Random = () => number;

/** mulberry32: numbers from 0 to 1. */
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
const NUMBERS = ["0", "1", "2", "3", "7", "10", "100", "0.5", "1.5", "2.0", "1.50", ".5", "65537", "123456789012"];
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
  "A longer text than jq shows in its messages",
  [],
  {},
];
const BUILTINS = [
  "not",
  "length",
  "type",
  "empty",
  "error",
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
const WITH_VALUE = ["has", "join", "split", "startswith", "endswith", "ltrimstr", "error"];
const WITH_FILTER = ["map", "first", "add", "select"];

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
    const inner = (): string => this.expression(depth - 1, locals);
    if (depth === 0) return this.#leaf(locals);
    return this.#one<() => string>([
      () => this.#path(locals),
      () => this.#path(locals),
      () => this.#leaf(locals),
      () => `(${inner()} ${this.#one(["+", "-", "*", "/", "%"])} ${inner()})`,
      () => `${this.#path(locals)} ${this.#one(["+", "-", "*", "/", "%"])} ${this.#leaf(locals)}`,
      () => `(${inner()} ${this.#one(["==", "!=", "<", "<=", ">", ">="])} ${inner()})`,
      () => `(${inner()} ${this.#one(["and", "or", "//"])} ${inner()})`,
      () => `(${inner()} | ${inner()})`,
      () => `"${this.#one(TEXTS)}\\(${inner()})${this.#one(TEXTS)}"`,
      () => `"\\(${inner()})-\\(${inner()})"`,
      () => `[${inner()}, ${inner()}]`,
      () => `[${inner()}]`,
      () => `[${this.#path(locals)}[]${this.#one(["", "?"])} | ${inner()}]`,
      () => `{${this.#one(FIELDS)}: ${inner()}, "${this.#one(FIELDS)}": ${inner()}, ${this.#one(FIELDS)}}`,
      () => `{(${this.#path(locals)}): ${inner()}}`,
      () => `{("${this.#one(FIELDS)}\\(${inner()})"): ${inner()}}`,
      () => `(if ${inner()} then ${inner()} else ${inner()} end)`,
      () => `(try ${this.#leaf(locals)} catch ${this.#leaf(locals)})`,
      () => `(${inner()})?`,
      () => `-(${inner()})`,
      () => `(${inner()} | ${this.#one(BUILTINS)})`,
      () => `(${inner()} | ${this.#one(WITH_VALUE)}(${inner()}))`,
      () => `(${inner()} | ${this.#one(WITH_FILTER)}(${inner()}))`,
      () => this.#binding(depth, locals),
      () => `(reduce ${this.#path(locals)}[] as $x (${this.#leaf(locals)}; ${this.expression(1, [...locals, "x"])}))`,
    ])();
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
