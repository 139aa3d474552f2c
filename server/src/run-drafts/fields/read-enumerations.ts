/** Reads lists without a field's name before them: `Ada, Tom and Lena`, `3 notebooks and 2 boxes of pens`. */
import type { FormField } from "../../definition/form/form.ts";
import { numberAt, timeUnitOf } from "../words/numbers.ts";
import { capitalRuns, nameField, takesMails } from "./read-names.ts";
import { doubt, fill, isEmpty, isFree, nameWords, wordsOf, writtenBetween, type Sentence } from "./sentence.ts";
import type { Token } from "../words/tokens.ts";
import { monthNamed, weekdayNamed } from "../words/words.ts";

type Item = { start: number; end: number };

const ASKS_PEOPLE = new Set(["name", "names", "people", "persons", "guests", "attendees", "members", "customers", "clients", "companies", "employees", "colleagues", "participants", "invitees", "who", "whom"]); // prettier-ignore
const ASKS_THINGS = new Set(["item", "items", "article", "articles", "product", "products", "goods", "things", "lines", "order", "supplies", "parts", "books", "ingredients"]); // prettier-ignore
/** Words that end an item's name; `of` does not. */
const ENDS_ITEM = new Set(["for", "to", "by", "from", "with", "without", "in", "on", "at", "as", "until", "before", "after", "and", "or", "please", "is", "are", "per", "because", "via", "that", "which", "not", "but"]); // prettier-ignore
/** Count no things: `20 euros`, `5 percent`. */
const UNITS = /^(euros?|eur|usd|dollars?|gbp|pounds?|bucks|chf|francs?|yen|jpy|quid|percent|pct|times|st|nd|rd|th)$/;

/** Fills the one empty list of free texts with counted things or with names. */
export function readEnumeration(sentence: Sentence, fields: FormField[], explained: Set<string>): void {
  const lists = fields.filter((field) => field.type === "list" && !field.choices && isEmpty(sentence, field));
  const [field] = lists;
  if (!field || lists.length > 1 || takesMails(field) || sentence.left < 0) return;
  const asks = new Set([...nameWords(field.name), ...wordsOf(field.title)]);
  const things = rowOf(sentence, countedThings(sentence));
  // One thing alone counts only if the field asks for things.
  if (things.length > 1 || (things.length === 1 && !asks.isDisjointFrom(ASKS_THINGS)))
    return fillItems(sentence, field, things);
  if (nameField(sentence, fields)) return;
  const isOfPeople = !asks.isDisjointFrom(ASKS_PEOPLE);
  const all = capitalRuns(sentence, explained).map(([start, end]) => ({ start, end }));
  const names = rowOf(
    sentence,
    all.filter(({ start }) => !sentence.negated[start]),
  );
  const before = names[0] && sentence.tokens[names[0].start - 1]?.word;
  if (!names[0] || !(isOfPeople || names.length > 2) || ["but", "except", "besides"].includes(before ?? "")) return;
  if (names.length < all.length) return doubt(sentence, field, "There are names elsewhere in the sentence, too.", all);
  fillItems(sentence, field, names);
}

/** The first row of items with nothing but commas and `and` in between. */
function rowOf({ tokens }: Sentence, items: Item[]): Item[] {
  const row = items.slice(0, 1);
  for (const item of items.slice(1)) {
    const between = tokens.slice(row.at(-1)!.end, item.start);
    if (
      between.length === 0 ||
      between.length > 2 ||
      !between.every(({ word }) => [",", "and", "&", ";"].includes(word))
    )
      break;
    row.push(item);
  }
  return row;
}

/** A number and what it counts. */
function countedThings(sentence: Sentence): Item[] {
  const { tokens } = sentence;
  const items: Item[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const said = tokens[at]!.word === "a" ? undefined : numberAt(tokens, at);
    if (!said || !isFree(sentence, at, said.end) || sentence.negated[at]) continue;
    const end = endOfThing(sentence, said.end);
    if (end > said.end && countsThings(tokens, at, said.end)) items.push({ start: at, end });
    at = Math.max(said.end, end) - 1;
  }
  return items;
}

function endOfThing(sentence: Sentence, from: number): number {
  const { tokens } = sentence;
  let end = from;
  while (tokens[end]?.kind === "word" && isFree(sentence, end) && !ENDS_ITEM.has(tokens[end]!.word)) end++;
  return tokens[end - 1]?.word === "of" ? from : end;
}

function countsThings(tokens: readonly Token[], at: number, end: number): boolean {
  const word = tokens[end]!.word;
  const isDate = [tokens[at - 1]?.word, word].some((each) => monthNamed(each) >= 0 || weekdayNamed(each) >= 0);
  return (
    !isDate && !UNITS.test(word) && timeUnitOf(word) === undefined && Number.isInteger(numberAt(tokens, at)!.value)
  );
}

function fillItems(sentence: Sentence, field: FormField, items: Item[]): void {
  const values = items.map(({ start, end }) => writtenBetween(sentence, start, end));
  fill(sentence, field, values, items[0]!.start, items.at(-1)!.end);
}
