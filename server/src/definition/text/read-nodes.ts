/** From the YAML library's nodes to JSON: only what JSON can express, aliases expanded within limits, each key once. */
import { isAlias, isMap, isScalar, isSeq, type Alias, type Document, type Node, type Pair, type YAMLMap } from "yaml";
import { LIMITS } from "../../lib/limits.ts";
import { numberOf } from "../../lib/json/exact-number.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { quote, type Path } from "./problem.ts";

/** The offset in the text of the value at a path, or of its nearest existing ancestor. */
type Locate = (path: Path, at: "key" | "value") => number;

/** `offset` in characters of the text. */
type NodeProblem = { offset: number; path: Path; message: string };

export function readNodes(document: Document): { value: Json; problems: NodeProblem[]; locate: Locate } {
  const reader = new Reader();
  const value = reader.read(document.contents);
  return { value, problems: reader.problems, locate: locator(document.contents) };
}

const TOO_MUCH = `the aliases here repeat too much: with them copied in, a definition has at most ${LIMITS.definitionTokens} values and ${LIMITS.outputBytes} characters; write out what is needed`;

class Reader {
  readonly problems: NodeProblem[] = [];
  readonly #path: (string | number)[] = [];
  readonly #anchors = new Map<string, Node>();
  readonly #open = new Set<Node>();
  #values = 0;
  /** All texts and keys together. */
  #characters = 0;
  #isTooMuch = false;

  read(node: Node | null): Json {
    this.#values++;
    if (this.#refusesMore(node)) return null;
    if (isAlias(node)) return this.#alias(node);
    if (this.#path.length > LIMITS.definitionTextNesting) {
      this.#refuse(node, `aliases nest deeper than ${LIMITS.definitionTextNesting} levels here`);
      return null;
    }
    if (node === null) return null;
    if ("anchor" in node && typeof node.anchor === "string") this.#anchors.set(node.anchor, node);
    this.#open.add(node);
    const value = this.#content(node);
    this.#open.delete(node);
    return value;
  }

  /** A text of 150 kB with 10,000 aliases would become a value of 1.5 GB. */
  #refusesMore(node: Node | null): boolean {
    if (this.#isTooMuch) return true;
    this.#isTooMuch = this.#values > LIMITS.definitionTokens || this.#characters > LIMITS.outputBytes;
    if (this.#isTooMuch) this.#refuse(node, TOO_MUCH);
    return this.#isTooMuch;
  }

  #content(node: Node): Json {
    if (isMap(node)) return this.#map(node);
    if (isSeq(node)) return node.items.map((item, index) => this.#child(index, item as Node | null));
    return this.#scalar(node, isScalar(node) ? node.value : null);
  }

  #child(key: string | number, node: Node | null): Json {
    this.#path.push(key);
    const value = this.read(node);
    this.#path.pop();
    return value;
  }

  #alias(alias: Alias): Json {
    const node = this.#anchors.get(alias.source);
    if (node === undefined) this.#refuse(alias, `there is no anchor &${alias.source} before this alias`);
    else if (this.#open.has(node)) this.#refuse(alias, `the alias *${alias.source} is inside what it refers to`);
    else return this.read(node);
    return null;
  }

  #map(node: YAMLMap): JsonObject {
    const object: JsonObject = {};
    for (const { key: keyNode, value } of node.items as Pair<Node, Node | null>[]) {
      const key = this.#key(keyNode);
      if (key === undefined) continue;
      this.#characters += key.length;
      this.#path.push(key);
      if (key === "__proto__")
        this.#refuse(keyNode, "the key __proto__ is not accepted: it would change what objects are in JavaScript");
      else if (key === "<<") this.#refuse(keyNode, "merging with << is not part of YAML 1.2; write the keys out");
      else if (Object.hasOwn(object, key)) this.#refuse(keyNode, `the key ${quote(key)} is written twice; keep one`);
      else object[key] = this.read(value);
      this.#path.pop();
    }
    return object;
  }

  #key(node: Node): string | undefined {
    const key = isAlias(node) ? undefined : isScalar(node) ? node.value : undefined;
    if (typeof key === "string") {
      if (!UNFIT_NAME.test(key)) return key;
      this.#refuse(node, "a key contains a control character or half of a surrogate pair");
    } else if (isScalar(node)) this.#refuse(node, `the key ${String(key)} is not a text; put it in quotes`);
    else this.#refuse(node, "a key must be text, not a list, an object or an alias");
    return undefined;
  }

  #scalar(node: Node, value: unknown): Json {
    if (typeof value === "string") this.#characters += value.length;
    if (value === null || typeof value === "string" || typeof value === "boolean") return value;
    if (typeof value === "number" && isScalar(node) && node.source !== undefined)
      return this.#number(node, node.source);
    this.#refuse(node, `${String(value)} is not a JSON value; put it in quotes if it is a text`);
    return null;
  }

  /** With all its digits. */
  #number(node: Node, source: string): Json {
    this.#characters += source.length;
    try {
      const number = numberOf(inJson(source));
      if (number !== undefined) return number;
      this.#refuse(node, `${source} is not a JSON value; put it in quotes if it is a text`);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#refuse(node, `this is ${error.message}; put it in quotes if it is a text`);
    }
    return null;
  }

  #refuse(node: Node | null, message: string): void {
    if (this.problems.length === LIMITS.definitionProblems) return;
    this.problems.push({ offset: node?.range?.[0] ?? 0, path: [...this.#path], message });
  }
}

/** A number of YAML's core schema (`+1`, `.5`, `1.`, `007`, `0x1F`, `0o17`) as JSON spells it. */
function inJson(source: string): string {
  // A larger one takes long to turn into decimals, and is refused for its length as it is.
  if (/^0[xo]/.test(source))
    return source.length > LIMITS.numberDigits ? "9".repeat(source.length) : BigInt(source).toString();
  return source
    .replace(/^\+/, "")
    .replace(/^(-?)0*(?=\d)/, "$1")
    .replace(/^(-?)\./, "$10.")
    .replace(/\.(?!\d)/, "");
}

const UNFIT_NAME = /[\u0000-\u001f\u007f]|\p{Surrogate}/u;

type KeyedPairs = Map<unknown, Pair<Node, Node | null>>;

function locator(root: Node | null): Locate {
  // Otherwise each of a hundred findings would search a map of thousands of keys.
  const indexes = new Map<YAMLMap, KeyedPairs>();
  const pairsOf = (map: YAMLMap): KeyedPairs => {
    let pairs = indexes.get(map);
    if (!pairs) indexes.set(map, (pairs = new Map()));
    if (pairs.size > 0) return pairs;
    for (const pair of map.items as Pair<Node, Node | null>[]) {
      if (isScalar(pair.key) && !pairs.has(pair.key.value)) pairs.set(pair.key.value, pair);
    }
    return pairs;
  };
  return (path, at) => {
    let node = root;
    let offset = node?.range?.[0] ?? 0;
    for (const [index, part] of path.entries()) {
      const pair = isMap(node) ? pairsOf(node).get(part) : undefined;
      const next = isSeq(node) ? (node.items[part as number] as Node | null | undefined) : pair?.value;
      if (pair === undefined && next === undefined) return offset;
      const isValue = at === "value" && index === path.length - 1;
      offset = (isValue ? next?.range?.[0] : undefined) ?? pair?.key.range?.[0] ?? next?.range?.[0] ?? offset;
      node = next ?? null;
    }
    return offset;
  };
}
