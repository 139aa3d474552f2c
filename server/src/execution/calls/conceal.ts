/**
 * Takes secrets out of what a server answers, before anybody sees it: as they are, in base64 and in hexadecimal, also as JSON, a
 * URL, a form or HTML have them, one within another. An answer of 1 MiB and twenty secrets are hundreds of searches, so it
 * is done in steps.
 */
import { isUtf8 } from "node:buffer";
import type { ExactNumber } from "../../lib/json/exact-number.ts";
import { Automaton } from "./automaton.ts";
import { ComingSearch, HIDDEN } from "./coming-search.ts";
import { isNumber, isScalar, type Json } from "../../lib/json/json.ts";
import type { Steps } from "../../fairness/slices.ts";
import { misreadingsOf, rangesBefore, READ_MOST, readEscapes, type Range } from "./read-escapes.ts";
import { ENOUGH, Needles } from "./needles.ts";
import { remainsOf } from "../../secrets/secret-fields.ts";

/** A shorter one is not looked for in outputs: with a secret `on` each such word would be lost. */
export const LEAST_CHARACTERS = 6;
/** This many bytes of a text are enough to recognise what begins before them, encoded twice. */
export const ENOUGH_BYTES = 32 * ENOUGH;
/** A text with more matches is no longer data, and is hidden whole. */
const MATCHES_MOST = 10_000;

export class Concealer {
  readonly #secrets: readonly string[];
  /** The texts that a number may contain. */
  readonly #digits: readonly string[];
  readonly #numbers: ReadonlySet<number>;
  /** Made when the first text is searched, in steps. */
  #needles: Needles | undefined;
  #digitNeedles: Needles | undefined;

  constructor(secrets: Iterable<string>, leastCharacters = LEAST_CHARACTERS) {
    this.#secrets = [...new Set(secrets)].filter((secret) => secret.length >= leastCharacters);
    this.#digits = this.#secrets.filter((secret) => /^\d+$/.test(secret));
    // A double rounds beyond 15 digits.
    this.#numbers = new Set(this.#digits.map(Number));
  }

  /** The value, or a copy where something was hidden. */
  *json(value: Json): Steps<Json> {
    if (typeof value === "string") return yield* this.text(value);
    if (isNumber(value)) return yield* this.#number(value);
    if (Array.isArray(value)) return yield* this.#list(value);
    if (isScalar(value)) return value;
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
      const shown = yield* this.json(item);
      if (shown !== item) (changed ??= [...list])[index] = shown;
    }
    return changed ?? list;
  }

  *#number(value: number | ExactNumber): Steps<Json> {
    if (this.#digits.length === 0) return value;
    if (typeof value === "number" && this.#numbers.has(value)) return HIDDEN;
    const needles = (this.#digitNeedles ??= yield* Needles.of(this.#digits));
    return (yield* needles.findIn(String(value).replace(".", ""), 1)).length > 0 ? HIDDEN : value;
  }

  *text(text: string): Steps<string> {
    return yield* this.beginning(text, text.length);
  }

  /** Up to a place in the text. What begins before it is hidden whole, even if it ends behind it. */
  *beginning(text: string, end: number): Steps<string> {
    if (this.#secrets.length === 0) return text.slice(0, end);
    const needles = (this.#needles ??= yield* needlesOf(this.#secrets));
    if (text.length < needles.shortest) return text.slice(0, end);
    const found = yield* findIn(text, needles);
    if (!found) return HIDDEN;
    return without(
      text,
      found.filter(([start]) => start < end),
      end,
    );
  }

  /** For a text that is shown while it still comes. */
  *coming(): Steps<ComingSearch> {
    const forms = yield* formsOf(this.#secrets);
    return new ComingSearch(
      yield* Automaton.of(
        forms.map((form) => form.slice(0, ENOUGH)),
        ENOUGH,
      ),
    );
  }

  /** Bytes of any kind: as text if they are, else byte by byte, and as UTF-16. */
  *bytes(bytes: Uint8Array): Steps<Buffer> {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const encoding = isUtf8(buffer) ? "utf8" : "latin1";
    const shown = Buffer.from(yield* this.text(buffer.toString(encoding)), encoding);
    if (!shown.includes(0)) return shown;
    // The high byte of most characters is 0, so from the next byte on it is the other byte order.
    return yield* this.#utf16(yield* this.#utf16(shown, 0), 1);
  }

  *#utf16(bytes: Buffer, from: number): Steps<Buffer> {
    const end = bytes.length - ((bytes.length - from) % 2);
    const text = bytes.toString("utf16le", from, end);
    const shown = yield* this.text(text);
    if (shown === text) return bytes;
    return Buffer.concat([bytes.subarray(0, from), Buffer.from(shown, "utf16le"), bytes.subarray(end)]);
  }
}

/** Undefined: there are too many. */
function* findIn(text: string, needles: Needles): Steps<Range[] | undefined> {
  const found: Range[] = [];
  const readings: string[] = [];
  for (let reading: string | undefined = text; reading !== undefined;) {
    let ranges = yield* needles.findIn(reading, MATCHES_MOST);
    if (ranges.length >= MATCHES_MOST) return undefined;
    for (const before of readings.toReversed()) if (ranges.length > 0) ranges = yield* rangesBefore(before, ranges);
    found.push(...ranges);
    readings.push(reading);
    reading = readings.length > READ_MOST ? undefined : yield* readEscapes(reading);
  }
  return found;
}

/** Up to a place in the text, or to the end of what begins before it. */
function without(text: string, found: Range[], end: number): string {
  const parts: string[] = [];
  let from = 0;
  for (const [start, over] of found.toSorted(([one], [other]) => one - other)) {
    if (start >= from) parts.push(text.slice(from, start), HIDDEN);
    from = Math.max(from, over);
  }
  return parts.join("") + text.slice(from, Math.max(from, end));
}

/** First what they are as texts: should there be too many, it is these that are known to their ends. */
function* needlesOf(secrets: readonly string[]): Steps<Needles> {
  return yield* Needles.of(yield* formsOf(secrets));
}

function* formsOf(secrets: readonly string[]): Steps<string[]> {
  const forms = new Set<string>();
  for (const of of [asText, encoded]) {
    for (const secret of secrets) {
      for (const form of of(secret)) forms.add(form);
      yield;
    }
  }
  return [...forms];
}

/** In a form a space is a plus. */
const asText = (secret: string): string[] => [
  secret,
  secret.replaceAll(" ", "+"),
  ...misreadingsOf(secret),
  ...remainsOf(secret),
];

/** The encoded forms of the text, and of a body or a URL that has it with escapes. */
const encoded = (secret: string): string[] => [...new Set(writtenOut(secret))].flatMap(encodedAs);

const writtenOut = (secret: string): string[] => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  new URLSearchParams({ a: secret }).toString().slice(2),
  encodeURIComponent(secret.toWellFormed()),
];

function encodedAs(secret: string): string[] {
  const base64 = base64Of(secret).filter((text) => text.length >= LEAST_CHARACTERS);
  const hex = secret.length < LEAST_CHARACTERS ? [] : hexOf(secret);
  return [...base64, ...hex];
}

function hexOf(secret: string): string[] {
  const hex = Buffer.from(secret).toString("hex");
  return [hex, hex.toUpperCase()];
}

/** The base64 of a longer text that contains the secret: it may begin at each third of a group, and its ends are others'. */
function base64Of(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].flatMap((before) => {
    const all = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    const inner = all.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    return [inner, inner.replaceAll("+", "-").replaceAll("/", "_")];
  });
}
