/** A number as people write it: `12`, `1,200`, `1.2k`, `twenty-five`, `two and a half`, `2 million`, `half a dozen`. */
import { ExactNumber, numberIn } from "../../lib/json/exact-number.ts";
import type { Token } from "./tokens.ts";
import { countOf } from "./words.ts";

export type Said = {
  value: number;
  /** With all its digits, if `value` can't hold them. */
  exact?: ExactNumber;
  /** The token after it. */
  end: number;
};

const MAGNITUDES = new Map([["hundred", 100], ["thousand", 1_000], ["k", 1_000], ["grand", 1_000], ["million", 1_000_000], ["mn", 1_000_000], ["billion", 1_000_000_000], ["bn", 1_000_000_000], ["dozen", 12]]); // prettier-ignore
const GLUED = /^(\d+(?:\.\d+)?)(k|m|mn|bn)$/;

export function numberAt(tokens: readonly Token[], at: number): Said | undefined {
  const token = tokens[at];
  if (!token || token.kind === "sign" || token.kind === "quote") return undefined;
  const glued = GLUED.exec(token.word);
  if (glued && exactIn(glued[1]!)) return undefined;
  if (glued) return { value: rounded(Number(glued[1]) * sizeOf(glued[2]!)), end: at + 1 };
  if (token.word === "half" && ["a", "an"].includes(tokens[at + 1]?.word ?? "")) {
    const of = tokens[at + 2]?.word ?? "";
    if (MAGNITUDES.has(of)) return { value: sizeOf(of) / 2, end: at + 3 };
    if (timeUnitOf(of)) return { value: 0.5, end: at + 2 };
  }
  const said = token.kind === "number" ? { value: Number(token.word), end: at + 1 } : wordsAt(tokens, at);
  if (!said) return undefined;
  const exact = token.kind === "number" ? exactIn(token.word) : undefined;
  // Nobody counts such a thing in thousands or halves: it is an id.
  if (exact) return { ...said, exact };
  const magnitude = MAGNITUDES.get(tokens[said.end]?.word ?? "");
  const whole = magnitude ? { value: rounded(said.value * magnitude), end: said.end + 1 } : said;
  const isMore = ["and", "a", "half"].every((word, index) => tokens[whole.end + index]?.word === word);
  if (!isMore) return whole;
  const after = MAGNITUDES.get(tokens[whole.end + 3]?.word ?? "");
  const value = whole.value + (magnitude ?? 1) / 2;
  return after ? { value: rounded(value * after), end: whole.end + 4 } : { value, end: whole.end + 3 };
}

function exactIn(written: string): ExactNumber | undefined {
  const number = numberIn(written);
  return number instanceof ExactNumber ? number : undefined;
}

const sizeOf = (magnitude: string): number => MAGNITUDES.get(magnitude) ?? 1_000_000;
/** 2.3 × 1,000,000 is 2,299,999.9999999995 of a computer's. */
const rounded = (value: number): number => Math.round(value * 1e6) / 1e6;

/** `twelve`, `forty two`, `a hundred and fifty`, `two thousand five hundred`. */
function wordsAt(tokens: readonly Token[], start: number): Said | undefined {
  let [total, current, at]: [number, number | undefined, number] = [0, undefined, start];
  for (; ; at++) {
    const word = tokens[at]?.kind === "word" ? tokens[at]!.word : "";
    const size = MAGNITUDES.get(word);
    const isOne = (word === "a" || word === "an") && at === start && MAGNITUDES.has(tokens[at + 1]?.word ?? "");
    const count = isOne ? 1 : countOf(word);
    if (word === "and" && current !== undefined && current >= 100 && countOf(tokens[at + 1]?.word) !== undefined) {
      if (tokens[at + 1]!.kind === "word") continue;
      break;
    }
    if (size !== undefined && current !== undefined && word !== "k") {
      if (size === 100) current *= 100;
      else [total, current] = [total + current * size, 0];
    } else if (count !== undefined && current === undefined) current = count;
    else if (count !== undefined && (isNext(current!, count) || (current === 0 && total > 0))) current! += count;
    else break;
  }
  return current === undefined ? undefined : { value: total + current, end: at };
}

/** After `twenty` comes `five`; after `hundred` or `thousand` anything smaller. */
const isNext = (current: number, count: number): boolean =>
  current % 100 === 0 ? count > 0 && count < 100 && current !== 0 : current % 100 >= 20 && current % 10 === 0 && count > 0 && count < 10; // prettier-ignore

const SECONDS = new Map([["second", 1], ["minute", 60], ["hour", 3_600], ["day", 86_400], ["week", 604_800], ["fortnight", 1_209_600], ["month", 0], ["year", 0]]); // prettier-ignore
const SHORT = new Map([["sec", "second"], ["secs", "second"], ["min", "minute"], ["mins", "minute"], ["hr", "hour"], ["hrs", "hour"]]); // prettier-ignore

export const timeUnitOf = (word: string | undefined): string | undefined => {
  if (word === undefined) return undefined;
  const unit = SHORT.get(word) ?? (word.endsWith("s") ? word.slice(0, -1) : word);
  return SECONDS.has(unit) ? unit : undefined;
};

/** Undefined: months and years are of no fixed length. */
export function converted(value: number, from: string, to: string): number | undefined {
  if (from === to) return value;
  if (from === "year" && to === "month") return value * 12;
  const [size, other] = [SECONDS.get(from)!, SECONDS.get(to)!];
  return size > 0 && other > 0 ? rounded((value * size) / other) : undefined;
}
