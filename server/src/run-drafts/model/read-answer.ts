/**
 * Reads a model's answer and trusts none of it: the words it quotes must be in the sentence, and so must texts; dates are computed
 * here; each value must pass the form's check. The rest is left to a person.
 */
import type { FormField } from "../../definition/form/form.ts";
import { compareNumbers, numberIn } from "../../lib/json/exact-number.ts";
import { isNumber, isObject, type Json } from "../../lib/json/json.ts";
import { objectIn } from "../../llm/answer.ts";
import { pairOf, readDates } from "../fields/read-dates.ts";
import { doubt, fill, sentenceOf, writtenBetween, type Sentence } from "../fields/sentence.ts";
import { unreadOf } from "../fields/read-sentence.ts";

export type Reading = {
  text: string;
  fields: readonly FormField[];
  /** In the zone of who wrote it. */
  today: number;
  misfit: (name: string, value: Json) => string | undefined;
};

/** `problems`: what the model could do better. Undefined: it is not what was asked for. */
export type Read = { sentence: Sentence; problems: string[] };

export function readAnswer(answer: string, reading: Reading): Read | undefined {
  const given = objectIn(answer)?.["fields"];
  if (!isObject(given)) return undefined;
  const sentence = sentenceOf(reading.text);
  const problems: string[] = [];
  const late: (() => void)[] = [];
  for (const field of reading.fields) {
    const entry = Object.hasOwn(given, field.name) ? given[field.name] : null;
    if (entry === null || entry === undefined) continue;
    const reason = readField(sentence, field, entry, reading, late);
    if (reason !== undefined) problems.push(`${JSON.stringify(field.name)}: ${reason}`);
  }
  for (const complete of late) complete();
  return { sentence, problems };
}

/** Each is looked for in the sentence. */
const MAX_ITEMS = 100;
const NOT_THERE = "These words are not in the sentence.";

/** The problem; undefined: it was taken. */
function readField(
  sentence: Sentence,
  field: FormField,
  entry: Json,
  reading: Reading,
  late: (() => void)[],
): string | undefined {
  const { value = null, words = null } = isObject(entry) ? entry : {};
  const place = typeof words === "string" ? placeOf(sentence, words) : undefined;
  if (!place) {
    const unsure = { name: field.name, value: null, source: "", sure: false };
    sentence.found.set(field.name, { ...unsure, reason: "The model's words for it are not in the sentence." });
    return NOT_THERE;
  }
  const [from, to] = place;
  const given = field.type === "date" ? datesOf(field, value, reading) : checkedOf(sentence, field, value, place);
  const wrong = "value" in given ? reading.misfit(field.name, given.value) : undefined;
  const reason = "reason" in given ? given.reason : wrong === undefined ? undefined : `It ${wrong}.`;
  if (reason !== undefined) {
    doubt(sentence, field, reason, [{ start: from, end: to }]);
    return reason;
  }
  if ("value" in given) fill(sentence, field, given.value, from, to);
  const other = "other" in given ? given.other : undefined;
  // A period is for both of its fields, also where the model gave it for one.
  if (other && reading.misfit(other.field.name, other.value) === undefined)
    late.push(() => {
      if (!sentence.found.has(other.field.name)) fill(sentence, other.field, other.value, from, to);
    });
  return undefined;
}

type Other = { field: FormField; value: Json };
/** `until June` says nothing about where it begins. */
type Given = { value: Json; other?: Other | undefined } | { other: Other } | { reason: string };

/** Tokens that the words are written in, the second excluded. Case and spaces do not matter. */
function placeOf({ text, tokens }: Sentence, words: string): [number, number] | undefined {
  const parts = words.trim().split(/\s+/);
  if (words.length > 2 * text.length || parts[0] === "") return undefined;
  const pattern = parts.map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)).join(String.raw`\s+`);
  const match = new RegExp(pattern, "i").exec(text);
  if (!match) return undefined;
  const [start, end] = [match.index, match.index + match[0].length];
  const from = tokens.findIndex((token) => token.end > start);
  const to = tokens.findLastIndex((token) => token.start < end) + 1;
  return from >= 0 && to > from ? [from, to] : undefined;
}

/** The words as they stand in a text, if they do. */
export function saidIn(text: string, words: string): string | undefined {
  const sentence = sentenceOf(text);
  const place = placeOf(sentence, words);
  return place && writtenBetween(sentence, ...place);
}

const stands = (sentence: Sentence, text: string): boolean => placeOf(sentence, text) !== undefined;

function checkedOf(sentence: Sentence, field: FormField, value: Json, place: [number, number]): Given {
  const { type, choices } = field;
  if (type === "boolean") return typeof value === "boolean" ? { value } : { reason: "It is not yes or no." };
  if (type === "number" || type === "integer") return numberOf(sentence, value, place);
  if (type === "list") {
    if (!Array.isArray(value) || value.length === 0 || value.length > MAX_ITEMS) return { reason: "It is not a list." };
    const isAll = value.every((item) => typeof item === "string" && (choices !== null || stands(sentence, item)));
    return isAll ? { value } : { reason: "It does not stand in the sentence like this." };
  }
  if (typeof value !== "string") return { reason: "It is not a text." };
  if (choices) {
    const said = value.toLowerCase();
    const choice =
      choices.find((one) => one.value === value) ?? choices.find((one) => one.title.toLowerCase() === said);
    return choice ? { value: choice.value } : { reason: "It is none of the choices." };
  }
  return stands(sentence, value) ? { value } : { reason: "It does not stand in the sentence like this." };
}

/** Where its words have digits, it must be one of them. */
function numberOf({ text, tokens }: Sentence, value: Json, [from, to]: [number, number]): Given {
  if (!isNumber(value)) return { reason: "It is not a number." };
  const written = text.slice(tokens[from]!.start, tokens[to - 1]!.end).match(/\d[\d.,]*/g);
  const numbers = written?.flatMap((one) => [
    numberIn(one.replaceAll(",", "").replace(/\.$/, "")),
    numberIn(one.replaceAll(".", "").replace(",", ".").replace(/\.$/, "")),
  ]);
  const size = numberIn(String(value).replace("-", ""))!;
  const isWritten =
    numbers === undefined || numbers.some((one) => one !== undefined && compareNumbers(one, size) === 0);
  return isWritten ? { value } : { reason: "The words say another number." };
}

/** The model names a period; what days it has is worked out by the same rules as for any sentence. */
function datesOf(field: FormField, value: Json, { fields, today }: Reading): Given {
  if (typeof value !== "string" || value.length > 100) return { reason: "It is not a day or a period." };
  const named = sentenceOf(value);
  const both = pairOf(fields);
  const pair = both?.includes(field) ? both : undefined;
  readDates(named, pair ?? [field], today);
  const unknown = { reason: "It is no day or period that is known." };
  if (unreadOf(named).length > 0) return unknown;
  const found = named.found.get(field.name);
  const partner = pair?.find((one) => one !== field);
  const its = partner && named.found.get(partner.name);
  const other = partner && its?.sure ? { field: partner, value: its.value } : undefined;
  if (found?.sure) return { value: found.value, other };
  return found || !other ? { reason: found?.reason ?? unknown.reason } : { other };
}
