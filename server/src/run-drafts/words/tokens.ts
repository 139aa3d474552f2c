/** A sentence as words, numbers, quoted texts and punctuation, each with its place. One pass, no backtracking. */
import { monthNamed, weekdayNamed } from "./words.ts";

export type Token = {
  /** As it is compared: lower case, without `'s`. A quoted text's content as it was written. */
  word: string;
  /** As it was written, without the quotes. */
  text: string;
  kind: "word" | "number" | "quote" | "sign";
  start: number;
  end: number;
};

const QUOTES: Readonly<Partial<Record<string, string>>> = {
  '"': '"',
  "“": "”",
  "„": "“",
  "«": "»",
  "'": "'",
  "‘": "’",
};
const SPACE = /\s/;
const LETTER = /[\p{L}\p{N}]/u;
/** Characters inside of a word, an address, a version or an order's number. */
const INSIDE = /[\p{L}\p{N}._@+/'’-]/u;
const NUMBER = /^-?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?$/;
/** `12,50`, `1.200,50`. */
const DECIMAL_COMMA = /^-?\d{1,3}(\.?\d{3})*,\d{2}$/;
const DAYS = /^(\d{1,2}(?:st|nd|rd|th)?)-(\d{1,2}(?:st|nd|rd|th)?)$/i;
const DATED = /^([\p{L}\d]{2,9})-([\p{L}\d]{2,9})$/u;
const EDGED = /^(mid|early|late)-(\p{L}+)$/iu;
const PRICED = /^(?:(\d[\d.,]*)(eur|usd|gbp|chf|jpy)|(eur|usd|gbp|chf|jpy)(\d[\d.,]*))$/i;

export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  const closers = new Map<string, number>();
  let at = 0;
  while (at < text.length) {
    const letter = text[at]!;
    if (SPACE.test(letter)) at++;
    else
      at =
        quoteAt(text, at, tokens, closers) ??
        urlAt(text, at, tokens) ??
        wordAt(text, at, tokens) ??
        signAt(text, at, tokens);
  }
  return tokens;
}

/** `closers`: where each kind of quote closes next, as it was looked up for an earlier one; the text's length where it never does. */
function quoteAt(text: string, at: number, tokens: Token[], closers: Map<string, number>): number | undefined {
  const close = Object.hasOwn(QUOTES, text[at]!) ? QUOTES[text[at]!] : undefined;
  if (close === undefined) return undefined;
  let end = closers.get(close) ?? -1;
  if (end <= at) {
    end = text.indexOf(close, at + 1);
    // An apostrophe closes nothing.
    if (close === "'" || close === "’")
      while (end > 0 && LETTER.test(text[end + 1] ?? " ")) end = text.indexOf(close, end + 1);
    if (end < 0) end = text.length;
    closers.set(close, end);
  }
  if (end === text.length || end === at + 1) return undefined;
  const content = text.slice(at + 1, end);
  tokens.push({ word: content, text: content, kind: "quote", start: at, end: end + 1 });
  return end + 1;
}

const URL_BEGINS = /^(?:https?:\/\/|www\.)[\p{L}\p{N}]/iu;
const LONGEST_URL_BEGIN = 10;
const ENDS_URL = /[\s"'<>“”«»]/;

/** A URL is one word, up to a space or a quote, without the sign that ends the sentence. */
function urlAt(text: string, at: number, tokens: Token[]): number | undefined {
  if (!URL_BEGINS.test(text.slice(at, at + LONGEST_URL_BEGIN))) return undefined;
  let end = at;
  while (end < text.length && !ENDS_URL.test(text[end]!)) end++;
  while (/[.,;:!?)\]]/.test(text[end - 1]!)) end--;
  const url = text.slice(at, end);
  tokens.push({ word: url, text: url, kind: "word", start: at, end });
  return end;
}

function wordAt(text: string, at: number, tokens: Token[]): number | undefined {
  const isNegative = text[at] === "-" && /\d/.test(text[at + 1] ?? "") && SPACE.test(text[at - 1] ?? " ");
  if (!isNegative && !LETTER.test(letterAt(text, at))) return undefined;
  let end = isNegative ? at + 1 : at;
  while (end < text.length) {
    const letter = letterAt(text, end);
    const isNumber = letter === "," && /^\d,(\d{3}|\d{2})(?!\d)/.test(text.slice(end - 1, end + 5));
    if (!isNumber && !INSIDE.test(letter)) break;
    end += letter.length;
  }
  while (/[._/'’-]/.test(text[end - 1]!)) end--;
  const written = text.slice(at, end);
  pushParts(tokens, written, at);
  // `Dec. 15` and `no. 15` are not the end of a sentence.
  const isShort = (written.length <= 4 && monthNamed(written.toLowerCase()) >= 0) || written.toLowerCase() === "no";
  return isShort && /^\. ?\d/.test(text.slice(end, end + 3)) ? end + 1 : end;
}

/** `1-15`, `Jan-Mar` and `Q1-Q2` are two with a dash between; `mid-June` and `99EUR` are two. */
function pushParts(tokens: Token[], written: string, at: number): void {
  const dated = DATED.exec(written);
  const range = DAYS.exec(written) ?? (dated && isDated(dated[1]!) && isDated(dated[2]!) ? dated : undefined);
  const [first, last] = (range ?? EDGED.exec(written) ?? PRICED.exec(written) ?? []).slice(1).filter(Boolean);
  if (first === undefined || last === undefined) return push(tokens, written, at);
  push(tokens, first, at);
  const middle = at + first.length;
  if (range) tokens.push({ word: "-", text: "-", kind: "sign", start: middle, end: middle + 1 });
  push(tokens, last, at + written.length - last.length);
}

function isDated(word: string): boolean {
  const lower = word.toLowerCase();
  return /^([qh][1-4]|(19|20)\d\d)$/.test(lower) || monthNamed(lower) >= 0 || weekdayNamed(lower) >= 0;
}

function push(tokens: Token[], text: string, start: number): void {
  const isComma = DECIMAL_COMMA.test(text);
  const isNumber = isComma || NUMBER.test(text);
  const number = isComma ? text.replaceAll(".", "").replace(",", ".") : text.replaceAll(",", "");
  const word = isNumber ? number : text.toLowerCase().replaceAll("’", "'").replace(/'s$/, "");
  tokens.push({ word, text, kind: isNumber ? "number" : "word", start, end: start + text.length });
}

function signAt(text: string, at: number, tokens: Token[]): number {
  const sign = letterAt(text, at);
  tokens.push({ word: sign, text: sign, kind: "sign", start: at, end: at + sign.length });
  return at + sign.length;
}

/** A whole character, also one of two code units. */
const letterAt = (text: string, at: number): string => String.fromCodePoint(text.codePointAt(at)!);
