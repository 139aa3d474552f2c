/**
 * Takes secrets out of what a server answers, before it becomes an output: as they are, in base64, and as JSON, a URL, a form
 * or HTML would have them. An answer of 1 MiB and twenty secrets are hundreds of searches, so it is done in steps.
 */
import { isUtf8 } from "node:buffer";
import type { Json } from "../lib/json.ts";
import type { Steps } from "../lib/slices.ts";
import { credentialAt, ENOUGH } from "./find-credential.ts";

export const HIDDEN = "[redacted]";

/** A shorter one is not looked for: with a secret `on` each such word of an output would be lost. */
const LEAST_CHARACTERS = 6;
/** A match takes microseconds. */
const MATCHES_PER_STEP = 500;
/** A text with more of them is no data any longer, and is hidden whole. */
const MATCHES_MOST = 10_000;

/** How a secret begins in some encoding; all of it may be longer. */
type Needle = { beginning: string; whole: string };

export class Concealer {
  readonly #needles: readonly Needle[];
  readonly #shortest: number;
  readonly #numbers: readonly string[];

  constructor(secrets: Iterable<string>) {
    const known = [...new Set(secrets)].filter((secret) => secret.length >= LEAST_CHARACTERS);
    this.#needles = known.flatMap(needlesOf);
    this.#shortest = Math.min(...this.#needles.map(({ beginning }) => beginning.length));
    this.#numbers = known.filter((secret) => /^\d+$/.test(secret));
  }

  get isEmpty(): boolean {
    return this.#needles.length === 0;
  }

  /** The value, or a copy where something was hidden. */
  *json(value: Json): Steps<Json> {
    if (typeof value === "string") return yield* this.text(value);
    if (typeof value === "number") return this.#number(value);
    if (Array.isArray(value)) return yield* this.#list(value);
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value);
    let isChanged = false;
    for (const entry of entries) {
      const [key, child] = entry;
      entry[0] = yield* this.text(key);
      entry[1] = yield* this.json(child);
      isChanged ||= entry[0] !== key || entry[1] !== child;
    }
    return isChanged ? Object.fromEntries(entries) : value;
  }

  *#list(list: Json[]): Steps<Json> {
    let changed: Json[] | undefined;
    for (const [index, item] of list.entries()) {
      const shown = typeof item === "number" ? this.#number(item) : yield* this.json(item);
      if (shown !== item) (changed ??= [...list])[index] = shown;
    }
    return changed ?? list;
  }

  #number(value: number): Json {
    if (this.#numbers.length === 0) return value;
    const text = String(value);
    return this.#numbers.some((secret) => text.includes(secret)) ? HIDDEN : value;
  }

  *text(text: string): Steps<string> {
    if (text.length < this.#shortest) return text;
    const found: [start: number, end: number][] = [];
    for (const { beginning, whole } of this.#needles) {
      for (let at = text.indexOf(beginning); at !== -1; at = text.indexOf(beginning, found.at(-1)![1])) {
        found.push([at, at + Math.max(beginning.length, credentialAt(text, at, whole))]);
        if (found.length === MATCHES_MOST) return HIDDEN;
        if (found.length % MATCHES_PER_STEP === 0) yield;
      }
      // A search of so much takes milliseconds.
      if (text.length > 100_000) yield;
    }
    yield;
    return found.length === 0 ? text : without(text, found);
  }

  /** Bytes of any kind: as text if they are, else byte by byte. */
  *bytes(bytes: Uint8Array): Steps<Buffer> {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const encoding = isUtf8(buffer) ? "utf8" : "latin1";
    return Buffer.from(yield* this.text(buffer.toString(encoding)), encoding);
  }
}

function without(text: string, found: [start: number, end: number][]): string {
  const parts: string[] = [];
  let from = 0;
  for (const [start, end] of found.toSorted(([one], [other]) => one - other)) {
    if (start >= from) parts.push(text.slice(from, start), HIDDEN);
    from = Math.max(from, end);
  }
  return parts.join("") + text.slice(from);
}

function needlesOf(secret: string): Needle[] {
  const beginnings = new Set(encodingsOf([...secret].slice(0, ENOUGH).join("")));
  return [
    ...[...beginnings].map((beginning) => ({ beginning, whole: secret })),
    ...base64Of(secret).map((whole) => ({ beginning: whole.slice(0, ENOUGH), whole })),
  ];
}

function encodingsOf(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1);
  const url = encodeURIComponent(text.toWellFormed());
  const html = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
  return [
    text,
    json,
    json.replaceAll("/", "\\/"),
    json.replaceAll(/[^\0-\x7f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`),
    url,
    url.replaceAll(/%[\dA-F]{2}/g, (escape) => escape.toLowerCase()),
    url.replaceAll("%20", "+"),
    html,
    html.replaceAll("'", "&#39;"),
  ];
}

/** What a longer text that contains the secret has in base64: it may begin at each third of a group, and its ends are others'. */
export function base64Of(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const found = new Set<string>();
  for (const before of [0, 1, 2]) {
    const all = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    const inner = all.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    found.add(inner).add(inner.replaceAll("+", "-").replaceAll("/", "_"));
  }
  return [...found].filter((text) => text.length >= LEAST_CHARACTERS);
}
