/** The text that PostgreSQL can keep, and read out of JSON. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes("\0");
export const UNSTORABLE = "must not contain NUL or lone surrogates";

/** The text without these characters at its end. A pattern that looks for the end takes quadratic time. */
export function withoutLast(text: string, sign: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === sign) end--;
  return text.slice(0, end);
}

/** Number of code points, as JSON Schema and jq count; half of a surrogate pair counts as one. */
export function codePointsIn(text: string): number {
  let count = text.length;
  let before = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if ((unit & 0xfc00) === 0xdc00 && (before & 0xfc00) === 0xd800) count--;
    before = unit;
  }
  return count;
}

/** The text, or its beginning and `…`, in at most `most` characters. */
export const shortenedTo = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text;

/** A text that somebody sent, cut, and without what would break a line or a terminal: to be shown, never to be compared. */
export const shownText = (text: string, most: number): string =>
  text
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]+/gu, "")
    .slice(0, most)
    .toWellFormed();

/** A decomposed letter has a mark or two, and three only in writings that hardly anybody uses. */
const MARKS = 4;

/**
 * Unicode's composed form, for a text that may have at most `most` characters. ICU puts combining marks in order in quadratic time,
 * so a text that is much too long is returned as it is: the check of its length refuses it.
 */
export const composed = (text: string, most: number, form: "NFC" | "NFKC" = "NFC"): string =>
  text.length > MARKS * most ? text : text.normalize(form);

/** Matches a visible character (with the flag `u`): no space, format character, filler, or blank Braille pattern. */
export const VISIBLE = "[^\\p{Cc}\\p{Cf}\\p{Cs}\\p{Z}\\p{Default_Ignorable_Code_Point}\\u2800]";

const visible = new RegExp(VISIBLE, "u");
export const isVisible = (text: string): boolean => visible.test(text);

/** The characters of a block. */
const BLOCK = 1_024;

/** A text to which little is added many times, and whose end is read many times: neither costs more as it grows. */
export class GrowingText {
  /** All have the same length. */
  readonly #blocks: string[] = [];
  #tail = "";

  get length(): number {
    return BLOCK * this.#blocks.length + this.#tail.length;
  }

  add(text: string): void {
    this.#tail += text;
    for (; this.#tail.length >= BLOCK; this.#tail = this.#tail.slice(BLOCK))
      this.#blocks.push(this.#tail.slice(0, BLOCK));
  }

  from(start: number, end = this.length): string {
    const first = Math.floor(start / BLOCK);
    if (first === this.#blocks.length) return this.#tail.slice(start - first * BLOCK, end - first * BLOCK);
    const blocks = this.#blocks.slice(first, Math.ceil(end / BLOCK));
    const whole = first + blocks.length === this.#blocks.length ? blocks.join("") + this.#tail : blocks.join("");
    return whole.slice(start - first * BLOCK, end - first * BLOCK);
  }
}

/** A UTF-16 unit takes at most this many bytes in UTF-8. */
const MAX_BYTES_OF_A_UNIT = 3;

/** How many characters of a text fit into this many bytes. */
export function charactersIn(text: string, bytes: number): number {
  // Most answers are short, and counting takes a buffer of all the bytes.
  if (text.length * MAX_BYTES_OF_A_UNIT <= bytes) return text.length;
  return new TextEncoder().encodeInto(text, new Uint8Array(bytes)).read;
}
