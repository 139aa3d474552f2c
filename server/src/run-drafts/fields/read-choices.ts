/** Choices by their value, title or synonym, also mistyped; yes and no by the field's own words. */
import type { Choice, FormField } from "../../definition/form/form.ts";
import { doubt, fill, isFree, labelled, phraseAt, use, wordsOf, type Label, type Sentence } from "./sentence.ts";
import { adverbOf, COMMON, synonymsOf } from "../words/words.ts";

type Place = { value: string; start: number; end: number };

export function readChoice(sentence: Sentence, field: FormField): void {
  const labels = labelled(sentence, field);
  const places = placesOf(sentence, field.choices ?? [], new Set(labels.map(({ end }) => end)));
  const meant = places.filter(({ start }) => !sentence.negated[start]);
  const beside = meant.filter(({ start }) => labels.some(({ end }) => end === start));
  if (field.type === "list" && readAllBut(sentence, field, labels, places)) return;
  const telling = beside.length > 0 && field.type !== "list" ? beside : meant;
  const values = [...new Set(telling.map(({ value }) => value))];
  if (places.length === 0) return;
  const first = telling[0] ?? places[0]!;
  const last = telling.at(-1) ?? places.at(-1)!;
  for (const { start, end } of places) use(sentence, start, end);
  if (values.length === 0) doubt(sentence, field, "The sentence says what it is not.", places);
  else if (field.type === "list") fill(sentence, field, values, first.start, last.end);
  else if (values.length > 1) doubt(sentence, field, `It could be ${values.join(" or ")}.`, telling);
  else fill(sentence, field, values[0]!, first.start, first.end);
  for (const { start, end } of labels) if (places.some((place) => place.start === end)) use(sentence, start, end);
}

const ALL = new Set(["all", "every", "everywhere", "everything", "each", "any", "anywhere"]);
const BUT = new Set(["but", "except", "excluding", "without", "not", "minus", "besides"]);

/** `everywhere but ap-south`, `all regions`. Whether something was said of all. */
function readAllBut(sentence: Sentence, field: FormField, labels: Label[], places: Place[]): boolean {
  const { tokens } = sentence;
  const isOwn = (at: number): boolean =>
    tokens[at]!.word === "everywhere" ? /region|location|country|place|zone|site/.test(field.name) : labels.some(({ start }) => start > at && start <= at + 3); // prettier-ignore
  const but = (at: number): boolean => {
    const before = tokens.slice(Math.max(0, at - 3), at).map(({ word }) => word);
    return before.some((word) => BUT.has(word)) || before.join(" ").includes("other than") || before.join(" ").includes("apart from"); // prettier-ignore
  };
  for (let at = 0; at < tokens.length; at++) {
    if (!ALL.has(tokens[at]!.word) || tokens[at]!.kind !== "word" || sentence.negated[at]) continue;
    const behind = places.filter(({ start }) => start > at);
    const first = behind[0];
    const isExcluded = first !== undefined && but(first.start) && first.start <= at + 6;
    if (!isExcluded && !isOwn(at)) continue;
    if (places.length > behind.length || (behind.length > 0 && !isExcluded)) {
      doubt(sentence, field, "It is said of all and of some.", [{ start: at, end: at + 1 }, ...places]);
      return true;
    }
    const out = new Set(behind.map(({ value }) => value));
    const values = (field.choices ?? []).map(({ value }) => value).filter((value) => !out.has(value));
    const label = labels.find(({ start }) => start > at && start <= at + 3);
    fill(sentence, field, values, at, behind.at(-1)?.end ?? label?.end ?? at + 1);
    return true;
  }
  return false;
}

/** The longest phrase at each place counts. `atLabels`: tokens right behind the field's name. */
function placesOf(sentence: Sentence, choices: Choice[], atLabels: Set<number>): Place[] {
  // Making the phrases of a choice costs as much as thirty comparisons.
  sentence.left -= 30 * choices.length;
  if (sentence.left < 0) return [];
  const byLetter = Map.groupBy(
    choices.flatMap((choice) => phrasesOf(choice, choices).map((words) => ({ words, value: choice.value }))),
    ({ words }) => words[0]![0],
  );
  const places: Place[] = [];
  for (let at = 0; at < sentence.tokens.length && sentence.left >= 0; at++) {
    const token = sentence.tokens[at]!;
    const phrases = byLetter.get(token.word[0]) ?? [];
    const joined = joinedAt(sentence, at);
    let best: Place | undefined;
    let isTie = false;
    for (const { words, value } of phrases) {
      const end = words.length === 1 && words[0] === joined ? at + 2 : phraseAt(sentence, at, words);
      if (end === undefined || !isFree(sentence, at, end)) continue;
      if (words.length === 1 && COMMON.has(words[0]!) && !atLabels.has(at)) continue;
      const isExact = words[0] === token.word;
      if (best && best.end === end && best.value !== value) {
        if (isExact) [best, isTie] = [{ value, start: at, end }, false];
        else if (!phrases.some((phrase) => phrase.value === best!.value && phrase.words[0] === token.word))
          isTie = true;
      } else if (!best || end > best.end) [best, isTie] = [{ value, start: at, end }, false];
    }
    if (best && !isTie) {
      places.push(best);
      at = best.end - 1;
    }
  }
  return places;
}

/** Two words as one: `think pad`. */
const joinedAt = ({ tokens }: Sentence, at: number): string | undefined =>
  tokens[at]?.kind === "word" && tokens[at + 1]?.kind === "word" ? tokens[at].word + tokens[at + 1]!.word : undefined;

/** `Asia` for `Asia Pacific`: a name is known by its first word, where no other choice begins with it. */
function nameOf(title: string, choices: Choice[]): string[][] {
  const words = title.split(/\s+/);
  const isName = words.length > 1 && words.every((word) => /^\p{Lu}\p{Ll}{2}/u.test(word));
  const first = words[0]!.toLowerCase();
  const isAlone =
    isName &&
    choices.length <= 50 &&
    choices.every((other) => other.title === title || wordsOf(other.title)[0] !== first);
  return isAlone && !COMMON.has(first) ? [[first]] : [];
}

/** The value as one word (`eu-west`) and as words, the title, what people also call either. */
function phrasesOf({ value, title }: Choice, choices: Choice[]): string[][] {
  const whole = [value.toLowerCase(), title.toLowerCase()].filter((text) => !/\s/.test(text)).map((text) => [text]);
  const parts = [wordsOf(value.replaceAll("_", " ")), wordsOf(title)];
  const known = [value.toLowerCase(), ...wordsOf(title)];
  const also = known
    .flatMap((word) => [...synonymsOf(word), ...(word.length > 3 ? [adverbOf(word)] : [])])
    .map((word) => [word]);
  return [...whole, ...parts, ...also, ...nameOf(title, choices)].filter((words) => words.length > 0);
}
