/**
 * A sentence as the input of an agent's form, in English and without a model: the same answer for the same words, instant
 * and zone. A field that it is unsure of stays empty and is marked; words that it does not know are never used.
 */
import type { FormField } from "../../definition/form/form.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { readBoolean } from "./read-booleans.ts";
import { readChoice } from "./read-choices.ts";
import { readDates } from "./read-dates.ts";
import { readEnumeration } from "./read-enumerations.ts";
import {
  readCode,
  readMails,
  readOneWord,
  readPerson,
  readPersonsMail,
  readQuote,
  readUrl,
  readVersion,
} from "./read-names.ts";
import { readNumber } from "./read-numbers.ts";
import { readList, readText } from "./read-values.ts";
import { isEmpty, nameWords, sentenceOf, wordsOf, type Found, type Sentence } from "./sentence.ts";
import type { Token } from "../words/tokens.ts";
import { FILLERS, isNear, NEGATIONS, REQUESTS } from "../words/words.ts";

export type ReadSentence = {
  input: JsonObject;
  /** In the form's order; only those that the sentence has something about. */
  fields: Found[];
  /** Required, and neither said nor with a default. */
  missing: string[];
  /** The parts that were not understood. */
  unread: string[];
};

export type Asked = {
  /** The agent's name: its words explain themselves. */
  name: string;
  fields: FormField[];
  text: string;
  /** In the zone of who wrote it (`days.ts`). */
  today: number;
  /** The problem of a value, as the run's start would say it. */
  misfit?: (name: string, value: Json) => string | undefined;
};

/** Words and signs; what has more is left unread. A draft's text has at most 1,000 characters. */
const MAX_TOKENS = 1_000;

export function readSentence({ name, fields, text, today, misfit }: Asked): ReadSentence {
  const sentence = sentenceOf(text);
  const isLong = sentence.tokens.length > MAX_TOKENS;
  const explained = isLong ? new Set<string>() : explainedBy(name, sentence);
  if (isLong) sentence.left = -1;
  else readFields(sentence, fields, explained, today);
  // Words left unread might have said something else about those that were read.
  if (sentence.left < 0) sentence.found.clear();
  const read = whatWasRead(sentence, fields, { explained, misfit });
  return sentence.left < 0 ? { ...read, unread: [text] } : read;
}

/** The name's words explain themselves. */
export const explainedBy = (name: string, { tokens }: Sentence): Set<string> => {
  const known = wordsOf(name);
  const isKnown = (word: string): boolean => known.some((other) => isNear(word, other));
  // `ten-minute` is one word of a sentence, and two of a name.
  return new Set(tokens.map(({ word }) => word).filter((word) => isKnown(word) || word.split("-").every(isKnown)));
};

/** The values found, as a draft has them. */
export function whatWasRead(
  sentence: Sentence,
  fields: readonly FormField[],
  { explained, misfit }: { explained: Set<string>; misfit?: Asked["misfit"] },
): ReadSentence {
  const found = fields.flatMap((field) => checked(sentence.found.get(field.name), misfit));
  const input = Object.fromEntries(found.filter(({ sure }) => sure).map((field) => [field.name, field.value]));
  const missing = fields
    .filter((field) => field.required && field.default === null && !Object.hasOwn(input, field.name))
    .map((field) => field.name);
  const filled = fields.filter(({ name }) => Object.hasOwn(input, name)).flatMap(({ name }) => nameWords(name));
  return { input, fields: found, missing, unread: unreadOf(sentence, new Set([...explained, ...filled])) };
}

/** Values told by a name or a shape go first, those guessed from their kind last: no word is read twice. */
function readFields(sentence: Sentence, fields: FormField[], explained: Set<string>, today: number): void {
  const each = (type: FormField["type"], read: (sentence: Sentence, field: FormField) => void): void => {
    for (const field of fields)
      if (sentence.left >= 0 && field.type === type && isEmpty(sentence, field)) read(sentence, field);
  };
  each("text", (_, field) => readText(sentence, field, fields));
  readUrl(sentence, fields);
  readVersion(sentence, fields);
  readQuote(sentence, fields);
  readPerson(sentence, fields, explained);
  each("boolean", (_, field) => readBoolean(sentence, field, fields, explained));
  readDates(sentence, fields, today);
  each("number", (_, field) => readNumber(sentence, field, fields));
  each("integer", (_, field) => readNumber(sentence, field, fields));
  each("choice", readChoice);
  readMails(sentence, fields);
  each("list", (_, field) => (field.choices ? readChoice : readList)(sentence, field));
  readCode(sentence, fields);
  readEnumeration(sentence, fields, explained);
  readOneWord(sentence, fields, explained);
  readPersonsMail(sentence, fields);
}

function checked(found: Found | undefined, misfit: Asked["misfit"]): Found[] {
  if (!found) return [];
  const reason = found.sure ? misfit?.(found.name, found.value) : undefined;
  return [reason === undefined ? found : { ...found, value: null, sure: false, reason: `It ${reason}.` }];
}

/** The first word that says something, behind `please` and `could you`. */
const isRequest = (tokens: readonly Token[], at: number): boolean =>
  REQUESTS.has(tokens[at]!.word) &&
  at <= 8 &&
  tokens.slice(0, at).every(({ word, kind }) => kind === "sign" || FILLERS.has(word));

/** Rows of words in which at least one says something. */
export function unreadOf(sentence: Sentence, explained: ReadonlySet<string> = new Set()): string[] {
  const parts: string[] = [];
  let [start, end]: [number | undefined, number] = [undefined, 0];
  const close = (): void => {
    if (start !== undefined)
      parts.push(sentence.text.slice(sentence.tokens[start]!.start, sentence.tokens[end - 1]!.end));
    start = undefined;
  };
  for (const [at, { word, kind }] of sentence.tokens.entries()) {
    if (sentence.used[at] || (kind === "sign" && /[,;.!?:]/.test(word))) close();
    else if (isRequest(sentence.tokens, at)) continue;
    else if (kind !== "sign" && !FILLERS.has(word) && !explained.has(word) && !NEGATIONS.has(word)) {
      start ??= at;
      end = at + 1;
    }
  }
  close();
  return parts;
}
