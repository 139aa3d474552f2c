/** Reads yes and no from the field's own words, or from one of them if it is clear. */
import type { FormField } from "../../definition/form/form.ts";
import { doubt, fill, isFree, labelsOf, phraseAt, wordsOf, type Sentence } from "./sentence.ts";
import { isNear, NEGATIONS, synonymsOf } from "../words/words.ts";

const INCLUDING = new Set(["include", "including", "includes", "with", "plus", "add", "adding", "also", "show"]);
const PREFIXES = new Set(["include", "with", "is", "has", "should", "the", "show"]);
/** Too common to stand for the rest of the field's name. */
const COMMON_VERBS = new Set(["run", "send", "make", "use", "do", "get", "set", "allow", "enable", "skip", "keep", "force", "add", "create", "check", "start", "dry"]); // prettier-ignore

type Place = { value: boolean | undefined; start: number; end: number };

/** `explained`: the words that are the agent's own name, and say nothing about a field. */
export function readBoolean(sentence: Sentence, field: FormField, fields: FormField[], explained: Set<string>): void {
  const words = wordsOf(field.name.replaceAll("_", " "));
  const telling = words.filter((word) => !PREFIXES.has(word));
  const isIncluded = ["include", "with", "show"].includes(words[0] ?? "");
  const titled = wordsOf(field.title).filter((word) => !PREFIXES.has(word));
  const whole = [titled, telling, [...telling.slice(0, -1), `${telling.at(-1)}ly`]].filter(
    (phrase) => phrase.length > 0,
  );
  const places: Place[] = [];
  for (let at = 0; at < sentence.tokens.length && telling.length > 0 && sentence.left >= 0; at++) {
    const end = whole.map((phrase) => phraseAt(sentence, at, phrase)).find((next) => next !== undefined);
    if (end === undefined || !isFree(sentence, at, end)) continue;
    places.push(saidAt(sentence, at, end, isIncluded));
    at = end - 1;
  }
  if (places.length === 0 && telling.length > 1)
    places.push(...partlySaid(sentence, field, telling, fields, explained));
  if (places.length === 0) return;
  const values = new Set(places.map(({ value }) => value));
  const first = places[0]!;
  if (values.size > 1) doubt(sentence, field, "It is said both ways.", places);
  else if (first.value !== undefined) fill(sentence, field, first.value, first.start, first.end);
  else doubt(sentence, field, "It is not said whether yes or no.", [first]);
}

const YES = ["yes", "true", "on"];
const NO = ["no", "false", "off"];
const OUT = ["excluded", "omitted", "skipped", "disabled", "off"];
const IN = ["included", "enabled", "too", "on"];

function saidAt(sentence: Sentence, start: number, end: number, isIncluded: boolean): Place {
  const { tokens, negated } = sentence;
  const word = (at: number): string => tokens[at]?.word ?? "";
  const isWritten = [":", "="].includes(word(end));
  if (isWritten && YES.includes(word(end + 1))) return { value: true, start, end: end + 2 };
  if (isWritten && NO.includes(word(end + 1))) return { value: false, start, end: end + 2 };
  let behind = end;
  while (behind < end + 3 && ["are", "is", "be", "should", "to", "must"].includes(word(behind))) behind++;
  const isEnd = tokens[behind + 1] === undefined || tokens[behind + 1]!.kind === "sign";
  const isNot =
    word(behind) === "not" && ["included", "needed", "wanted", "required", "necessary"].includes(word(behind + 1));
  if (isNot) return { value: false, start, end: behind + 2 };
  const isClear = isEnd || !["on", "off"].includes(word(behind));
  if (OUT.includes(word(behind)) && isClear) return { value: negated[start] === true, start, end: behind + 1 };
  if (negated[start]) return { value: false, start: negatorOf(sentence, start), end };
  if (IN.includes(word(behind)) && isClear) return { value: true, start, end: behind + 1 };
  if (!isIncluded) return { value: true, start, end };
  const before = includingAt(sentence, start);
  return before === undefined ? { value: undefined, start, end } : { value: true, start: before, end };
}

/** Where the `not` stands, or what comes first of what it reaches. */
function negatorOf({ negated }: Sentence, start: number): number {
  let from = start;
  while (from > 0 && negated[from]) from--;
  return from;
}

/** `with`, `including` or `don't skip`, up to three words before. */
function includingAt({ tokens }: Sentence, start: number): number | undefined {
  for (let at = start - 1; at >= Math.max(0, start - 3); at--) {
    if (INCLUDING.has(tokens[at]!.word)) return at;
    if (NEGATIONS.has(tokens[at]!.word) && NEGATIONS.has(tokens[at - 1]?.word ?? "")) return at - 1;
  }
  return undefined;
}

/** `don't notify`, `without tests`, `let them know`: one word of the name, with what makes it a yes or a no. */
function partlySaid(
  sentence: Sentence,
  field: FormField,
  telling: string[],
  fields: FormField[],
  explained: Set<string>,
): Place[] {
  const others = fields.filter((other) => other !== field).flatMap((other) => labelsOf(other).flat());
  const foreign = [...explained, ...others];
  const isOwn = (word: string): boolean =>
    !COMMON_VERBS.has(word) && !foreign.some((other) => sentence.left-- < 0 || isNear(other, word));
  const known = telling.filter(isOwn).flatMap((word) => [word, ...synonymsOf(word).filter(isOwn)]);
  const { tokens, negated } = sentence;
  const places: Place[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const { word, kind } = tokens[at]!;
    if (kind !== "word" || !isFree(sentence, at)) continue;
    if (word === "let" && telling.includes("notify")) {
      const know = [2, 3, 4].find((offset) => tokens[at + offset]?.word === "know");
      if (know !== undefined) places.push({ value: !negated[at], start: at, end: at + know + 1 });
      continue;
    }
    if (!known.some((other) => isNear(word, other))) continue;
    if (negated[at]) places.push({ value: false, start: negatorOf(sentence, at), end: at + 1 });
    else {
      const before = tokens[at - 1];
      const isAsked =
        before === undefined || before.kind === "sign" || ["and", "please", "then", "also"].includes(before.word);
      const isVerb = isNear(word, telling[0]!) || synonymsOf(telling[0]!).includes(word);
      const including = includingAt(sentence, at);
      if (isVerb && isAsked) places.push({ value: true, start: at, end: at + 1 });
      else if (!isVerb && including !== undefined) places.push({ value: true, start: including, end: at + 1 });
    }
  }
  return places;
}
