/** A sentence while fields are read from it: its tokens, which of them something was made of, and what was found. */
import type { FormField } from "../../definition/form/form.ts";
import type { Json } from "../../lib/json/json.ts";
import { timeUnitOf } from "../words/numbers.ts";
import { tokensOf, type Token } from "../words/tokens.ts";
import { HEDGES, isNear, NEGATES_THING, NEGATIONS, NO_DENIAL, UNDOES } from "../words/words.ts";

export type Found = {
  name: string;
  /** Null where it is not sure. */
  value: Json;
  /** The words that it was read from. */
  source: string;
  sure: boolean;
  /** Why it is not sure. */
  reason: string | null;
};

export type Sentence = {
  text: string;
  tokens: Token[];
  /** By token: something was made of it. */
  used: boolean[];
  /** By token: a `not` or `without` before it, in the same part of the sentence. */
  negated: boolean[];
  /** By token: a `maybe` before it, or right behind it. */
  hedged: boolean[];
  found: Map<string, Found>;
  /** Words that may still be compared with those of the form: below 0 the form is too large for the sentence. */
  left: number;
};

/** Some 50 ms. A form of seven fields takes 20,000 for a sentence of a hundred words. */
const COMPARISONS = 150_000;

const ENDS_CLAUSE = new Set([",", ";", ".", "!", "?", "but", "instead", ":", "(", ")", "–", "—"]);
const ENDS_THING = new Set(["to", "for", "as", "in", "on", "at", "with", "since", "from", "until", "by", "via", "before", "after", "because", "please"]); // prettier-ignore
/** A `not` reaches so many words. */
const REACH = 6;

export function sentenceOf(text: string): Sentence {
  const tokens = tokensOf(text);
  const used = tokens.map(() => false);
  return { text, tokens, used, negated: negatedOf(tokens), hedged: hedgedOf(tokens), found: new Map(), left: COMPARISONS }; // prettier-ignore
}

const endsClause = ({ word, kind }: Token): boolean => kind !== "quote" && ENDS_CLAUSE.has(word);

function negatedOf(tokens: Token[]): boolean[] {
  const negated = tokens.map(() => false);
  let left = 0;
  let isThing = false;
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]!;
    if (endsClause(token) || (isThing && ENDS_THING.has(token.word))) left = 0;
    negated[at] = left-- > 0;
    if (token.kind !== "word") continue;
    const [next, other] = [tokens[at + 1], tokens[at + 2]?.word ?? ""];
    if (NEGATIONS.has(token.word) && !isNoDenial(token.word, next)) {
      const isUndone = UNDOES.has(next?.word ?? "") || (next?.word === "leave" && other === "out");
      if (isUndone) at++;
      left = isUndone ? 0 : REACH;
      isThing = NEGATES_THING.has(token.word) && !next?.word.endsWith("ing") && next?.word !== "need";
    } else if (["leave", "leaving", "left"].includes(token.word)) {
      const out = outBehind(tokens, at);
      if (out === at + 1) [left, isThing] = [REACH + 1, true];
      else if (out !== undefined) negated.fill(true, at + 1, (at = out) + 1);
    }
  }
  return negated;
}

/** `no later than`, `no. 1500`. */
const isNoDenial = (word: string, next: Token | undefined): boolean =>
  (word === "no" || word === "not") && next !== undefined && (NO_DENIAL.has(next.word) || (word === "no" && next.kind === "number")); // prettier-ignore

/** The `out` of `leave the refunds out`. */
function outBehind(tokens: Token[], at: number): number | undefined {
  for (let place = at + 1; place <= at + 5 && tokens[place] && !endsClause(tokens[place]!); place++)
    if (tokens[place]!.word === "out") return place;
  return undefined;
}

function hedgedOf(tokens: Token[]): boolean[] {
  const hedged = tokens.map(() => false);
  let left = 0;
  for (const [at, token] of tokens.entries()) {
    if (endsClause(token)) left = 0;
    hedged[at] = left-- > 0;
    const isUnsure = token.word === "sure" && ["not", "n't"].includes(tokens[at - 1]?.word ?? "");
    if (token.kind !== "word" || !(HEDGES.has(token.word) || isUnsure)) continue;
    left = REACH;
    const next = tokens[at + 1];
    if (next && !endsClause(next)) continue;
    // `as a PDF, maybe`
    const last = tokens[at - 1]?.word === "," ? at - 2 : at - 1;
    for (let place = last; place > last - 3 && tokens[place] && !endsClause(tokens[place]!); place--)
      hedged[place] = true;
  }
  return hedged;
}

export const isFree = (sentence: Sentence, from: number, to = from + 1): boolean =>
  to <= sentence.tokens.length && !sentence.used.slice(from, to).includes(true);

export function use(sentence: Sentence, from: number, to: number): void {
  for (let at = from; at < to; at++) sentence.used[at] = true;
}

/** As it was written, from one token up to another. */
export const writtenBetween = ({ text, tokens }: Sentence, from: number, to: number): string =>
  text.slice(tokens[from]!.start, tokens[to - 1]!.end);

/** Takes the value, and marks its words as read. */
export function fill(sentence: Sentence, field: FormField, value: Json, from: number, to: number): void {
  if (sentence.hedged.slice(from, to).includes(true))
    return doubt(sentence, field, "The sentence is not sure of it.", [{ start: from, end: to }]);
  const source = writtenBetween(sentence, from, to);
  sentence.found.set(field.name, { name: field.name, value, source, sure: true, reason: null });
  use(sentence, from, to);
}

/** Leaves the field empty, and says why. What stands between the places may be another field's. */
export function doubt(
  sentence: Sentence,
  field: FormField,
  reason: string,
  places: readonly { start: number; end: number }[],
): void {
  const [from, to] = [Math.min(...places.map(({ start }) => start)), Math.max(...places.map(({ end }) => end))];
  const source = writtenBetween(sentence, from, to);
  sentence.found.set(field.name, { name: field.name, value: null, source, sure: false, reason });
  for (const { start, end } of places) use(sentence, start, end);
}

export const isEmpty = (sentence: Sentence, field: FormField): boolean => !sentence.found.has(field.name);

/** Where the words stand in a row, after `from`: the token behind them; fillers such as `the` may stand between. */
export function phraseAt(sentence: Sentence, at: number, phrase: readonly string[]): number | undefined {
  if (--sentence.left < 0) return undefined;
  const { tokens } = sentence;
  let next = at;
  for (const [index, word] of phrase.entries()) {
    if (index > 0)
      for (let skipped = 0; skipped < 2 && isArticle(tokens[next]) && tokens[next]!.word !== word; skipped++) next++;
    const token = tokens[next];
    if (token === undefined || token.kind === "quote" || !isNear(token.word, word)) return undefined;
    next++;
  }
  return phrase.length === 0 ? undefined : next;
}

const isArticle = (token: Token | undefined): boolean => ["the", "a", "an", "any"].includes(token?.word ?? "");

export const wordsOf = (text: string): string[] =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}$€£¥]+/u)
    .filter((word) => word !== "");

const GENERIC = new Set([
  "id",
  "number",
  "no",
  "code",
  "date",
  "ref",
  "include",
  "is",
  "has",
  "of",
  "the",
  "to",
  "at",
  "on",
  "by",
  "in",
  "most",
]);

/** People's names for the field: its title, its name, and the telling end of its name, the longest first. */
export function labelsOf(field: FormField): string[][] {
  const known = LABELS.get(field);
  if (known) return known;
  const labels = makeLabels(field);
  LABELS.set(field, labels);
  return labels;
}

/** Asked for each field by each of the others. */
const LABELS = new WeakMap<FormField, string[][]>();

/** `spentOn` and `spent_on` are two words. */
export const nameWords = (name: string): string[] =>
  wordsOf(name.replaceAll("_", " ").replace(/([a-z])([A-Z])/g, "$1 $2"));

function makeLabels(field: FormField): string[][] {
  const name = nameWords(field.name);
  const telling = name.filter((word) => !GENERIC.has(word));
  // `2 hours` may be of anything, also where a field's name ends in hours.
  const last = telling.slice(-1).filter((word) => telling.length === 1 || timeUnitOf(word) === undefined);
  const labels = [wordsOf(field.title), name, telling, last].filter((words) => words.length > 0);
  if (name.includes("manager")) labels.push(["reports", "to"], ["reporting", "to"], ["managed", "by"]);
  const distinct = new Map(labels.map((words) => [words.join(" "), words]));
  return [...distinct.values()].toSorted((a, b) => b.length - a.length);
}

const CONNECTS = new Set([":", "=", "#", "is", "are", "number", "no", "no.", "of", "the", "id", "was", "to", "at"]);

export type Label = { start: number; end: number; isWritten: boolean };

/** Each place of the field's name, with the token where its value would begin. `isWritten`: a colon or `=` stands between. */
export function labelled(sentence: Sentence, field: FormField): Label[] {
  const places: Label[] = [];
  const labels = labelsOf(field);
  for (let at = 0; at < sentence.tokens.length && sentence.left >= 0; at++) {
    for (const label of labels) {
      let end = phraseAt(sentence, at, label);
      if (end === undefined || !isFree(sentence, at, end)) continue;
      let isWritten = false;
      for (let skipped = 0; skipped < 3 && CONNECTS.has(sentence.tokens[end]?.word ?? ""); skipped++)
        isWritten ||= [":", "="].includes(sentence.tokens[end++]!.word);
      places.push({ start: at, end, isWritten });
      at = end - 1;
      break;
    }
  }
  return places;
}
