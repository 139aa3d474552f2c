/** Numbers: beside the field's name, as money, as percent, or as a time in the field's unit. */
import type { FormField } from "../../definition/form/form.ts";
import { isWhole, type ExactNumber } from "../../lib/json/exact-number.ts";
import { converted, numberAt, timeUnitOf, type Said } from "../words/numbers.ts";
import { doubt, fill, isFree, labelled, labelsOf, nameWords, phraseAt, wordsOf, type Sentence } from "./sentence.ts";
import { isNear, ordinalOf } from "../words/words.ts";

const SIGNS = new Set("$€£¥");
const COINS = /^(euros?|eur|usd|dollars?|gbp|pounds?|bucks|chf|francs?|yen|jpy|quid)$/;
const CODES = /^(eur|usd|gbp|chf|jpy)$/;
const AT_MOST = [["at", "most"], ["up", "to"], ["no", "more", "than"], ["not", "more", "than"], ["maximum"], ["max"], ["top"]]; // prettier-ignore
const AT_LEAST = [["at", "least"], ["no", "less", "than"], ["no", "fewer", "than"], ["minimum"], ["min"]];
const ABOUT = new Set(["about", "around", "roughly", "approximately", "approx", "circa", "nearly", "almost", "~"]);
/** A price is not what is asked for. */
const COSTS = /^(cost|costs|costing|price|priced|worth|paid|bought|valued)$/;
/** `the third attempt` is a number, `the third replica` is one of them. */
const POSITIONS = /attempt|page|step|rank|position|level|floor|line|row|priority|phase|round|chapter/;

type Place = { value: number | ExactNumber; start: number; end: number; reason?: string | undefined };

export function readNumber(sentence: Sentence, field: FormField, fields: FormField[]): void {
  const places = [
    ...besideName(sentence, field),
    ...asLimit(sentence, field),
    ...asMoney(sentence, field, fields),
    ...asPercent(sentence, field, fields),
    ...asTime(sentence, field),
    ...asPosition(sentence, field),
  ].toSorted((one, other) => one.start - other.start || other.end - one.end);
  const [first] = places;
  if (!first) return;
  const reason = places.find((place) => place.reason !== undefined)?.reason;
  if (reason !== undefined) return doubt(sentence, field, reason, places);
  const values = [...new Map(places.map(({ value }) => [String(value), value])).values()];
  if (values.length > 1) return doubt(sentence, field, `It could be ${values.join(" or ")}.`, places);
  if (field.type === "integer" && !isWhole(values[0]!))
    return doubt(sentence, field, "It takes a whole number.", places);
  fill(sentence, field, values[0]!, first.start, first.end);
}

/** One place, from `start`; `said` is the number in it. Undefined where it is used or said not to be. */
function placeOf(sentence: Sentence, start: number, at: number, said: Said | undefined, end: number): Place[] {
  if (!said || !isFree(sentence, at, said.end) || sentence.negated[at]) return [];
  return [
    { value: said.exact ?? said.value, start, end: Math.max(end, said.end), reason: vagueness(sentence, at, said.end) },
  ];
}

/** Why the number can't be relied on. */
function vagueness(sentence: Sentence, at: number, end: number): string | undefined {
  const { tokens } = sentence;
  const [before, after] = [tokens[at - 1]?.word ?? "", tokens[end]?.word ?? ""];
  if (ABOUT.has(before)) return "It is not said exactly.";
  const isJoin = (word: string): boolean => ["to", "or", "-", "–"].includes(word);
  const isOpen = (place: number): boolean => tokens[place]?.kind === "number" && isFree(sentence, place);
  const isRange = isJoin(before) && isOpen(at - 2);
  const goesOn = isJoin(after) && isOpen(end + 1);
  const isBetween = before === "and" && tokens[at - 3]?.word === "between";
  if (isRange || goesOn || isBetween) return "More than one number is in the sentence.";
  const isNumber = tokens[at]!.kind === "number";
  return isNumber && (isOpen(at - 1) || (isOpen(end) && end === at + 1))
    ? "It cannot be told where the number ends."
    : undefined;
}

function besideName(sentence: Sentence, field: FormField): Place[] {
  const { tokens } = sentence;
  const found: Place[] = [];
  const taken = new Set<number>();
  const add = (start: number, at: number, end?: number): void => {
    const said = numberAt(tokens, at);
    if (!said || taken.has(at) || sentence.negated[start]) return;
    const [place] = placeOf(sentence, start, at, said, end ?? said.end);
    if (!place) return;
    taken.add(at);
    const coin = [tokens[at - 1]?.word ?? "", tokens[said.end]?.word ?? ""].find((word) => codeOf(word) !== undefined);
    if (coin !== undefined && isOtherCoin(field, coin)) place.reason ??= "It is said in another currency.";
    found.push(inUnit(sentence, field, place, said.end));
  };
  for (const { start, end } of labelled(sentence, field)) {
    const at = SIGNS.has(tokens[end]?.word ?? "") || CODES.test(tokens[end]?.word ?? "") ? end + 1 : end;
    add(start, at);
  }
  const labels = labelsOf(field);
  for (let at = 0; at < tokens.length && sentence.left >= 0; at++) {
    const said = taken.has(at) ? undefined : numberAt(tokens, at);
    if (!said) continue;
    const end = labels.map((label) => phraseAt(sentence, said.end, label)).find((next) => next !== undefined);
    if (end !== undefined && isFree(sentence, at, end)) add(at, at, end);
    at = said.end - 1;
  }
  return found;
}

/** `10 %` is no amount, `2 hours` no number of minutes. */
function inUnit({ tokens }: Sentence, field: FormField, place: Place, next: number): Place {
  if (isPercent(tokens[next]?.word, tokens[next + 1]?.word) && percentKind(field) === undefined)
    return { ...place, reason: "It takes no percentage." };
  const unit = timeUnitOf(tokens[next]?.word);
  if (!unit || place.end > next) return place;
  const own = unitOf(field);
  const isCounted = own !== undefined && typeof place.value === "number";
  const value = isCounted ? converted(place.value as number, unit, own) : undefined;
  if (value === undefined) return { ...place, end: next + 1, reason: "It is not known in which unit." };
  return { ...place, value, end: next + 1 };
}

function asLimit(sentence: Sentence, field: FormField): Place[] {
  const words = labelsOf(field).flat();
  const isMost = words.some((word) => ["limit", "max", "maximum", "most"].includes(word));
  const isLeast = words.some((word) => ["min", "minimum", "least"].includes(word));
  if (isMost === isLeast) return [];
  const found: Place[] = [];
  for (let at = 0; at < sentence.tokens.length && sentence.left >= 0; at++) {
    const next = (isMost ? AT_MOST : AT_LEAST)
      .map((phrase) => phraseAt(sentence, at, phrase))
      .find((end) => end !== undefined);
    const said = next === undefined ? undefined : numberAt(sentence.tokens, next);
    if (!said || !isFree(sentence, at, said.end)) continue;
    // `the top 5 %`, `up to 3 days`: of something else.
    const isOther = isPercent(sentence.tokens[said.end]?.word, "") || timeUnitOf(sentence.tokens[said.end]?.word);
    if (!isOther) found.push({ value: said.exact ?? said.value, start: at, end: said.end });
  }
  return found;
}

const TAKES_MONEY = /amount|price|sum|total|cost|budget|value|fee/;
/** Words before a sum without a currency: `paid 180 for`, `an expense of 180.75`. */
const PAYS = new Set(["pay", "paid", "pays", "spend", "spent", "of", "cost", "costs", "costing", "expense", "total", "sum", "worth"]); // prettier-ignore
const AFTER_SUM = new Set(["for", "on", "at", "to", "in", "from", "by", "as", "with", "and", "yesterday", "today", ""]);

/** Takes `180.75`, or a number after a verb of paying, as a sum, if one field takes money and the number counts no things. */
function isBareSum({ tokens }: Sentence, at: number, end: number): boolean {
  const after = tokens[end];
  const isAlone = after === undefined || (after.kind === "sign" && after.word !== "%") || AFTER_SUM.has(after.word);
  const isCents = tokens[at]!.kind === "number" && /[.,]\d{2}$/.test(tokens[at]!.text);
  return isAlone && (isCents || PAYS.has(tokens[at - 1]?.word ?? ""));
}

function asMoney(sentence: Sentence, field: FormField, fields: FormField[]): Place[] {
  if (!TAKES_MONEY.test(field.name)) return [];
  const isOnly = fields.filter(({ name, type }) => type === "number" && TAKES_MONEY.test(name)).length === 1;
  const { tokens } = sentence;
  const found: Place[] = [];
  const bare: Place[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const said = numberAt(tokens, at);
    if (!said) continue;
    const [before, after] = [tokens[at - 1]?.word ?? "", tokens[said.end]?.word ?? ""];
    const isAfter = COINS.test(after) || SIGNS.has(after) || (after === "us" && COINS.test(tokens[said.end + 1]?.word ?? "")); // prettier-ignore
    const isBefore = SIGNS.has(before) || CODES.test(before);
    const isOther = isCost(sentence, at) && !/price|cost|value/.test(field.name);
    const coin = isAfter ? after : before;
    if ((isBefore || isAfter) && !isOther) {
      const end = said.end + (isAfter && COINS.test(after) && coinsOf(field).has(codeOf(after)) ? 1 : 0);
      const reason = isOtherCoin(field, coin) ? "It is said in another currency." : doubtOf(sentence, at, said.end);
      found.push(
        ...placeOf(sentence, at, at, said, end).map((place) => ({ ...place, reason: place.reason ?? reason })),
      );
    } else if (isOnly && isBareSum(sentence, at, said.end)) bare.push(...placeOf(sentence, at, at, said, said.end));
    at = said.end - 1;
  }
  return found.length > 0 ? found : bare;
}

const NAMES_OF_COINS: readonly (readonly [RegExp, string])[] = [
  [/^(euros?|eur|€)$/, "eur"],
  [/^(usd|us|dollars?|bucks|\$)$/, "usd"],
  [/^(gbp|pounds?|quid|£)$/, "gbp"],
  [/^(chf|francs?)$/, "chf"],
  [/^(yen|jpy|¥)$/, "jpy"],
];
const codeOf = (word: string): string | undefined => NAMES_OF_COINS.find(([names]) => names.test(word))?.[1];

/** The currencies in the field's title and name. */
const coinsOf = ({ name, title }: FormField): Set<string | undefined> =>
  new Set([...nameWords(name), ...wordsOf(title)].map(codeOf).filter((code) => code !== undefined));

const isOtherCoin = (field: FormField, word: string): boolean => {
  const own = coinsOf(field);
  return own.size > 0 && !own.has(codeOf(word));
};

/** Up to four words before the amount. */
const isCost = ({ tokens }: Sentence, at: number): boolean =>
  tokens.slice(Math.max(0, at - 4), at).some(({ word }) => COSTS.test(word));

function doubtOf({ tokens }: Sentence, at: number, end: number): string | undefined {
  if (/^\d{1,3}\.\d{3}$/.test(tokens[at]!.text) && end === at + 1)
    return "It cannot be told whether the point parts thousands.";
  const next = tokens[end + 1]?.word === "and" ? end + 2 : end + 1;
  if (["cents", "cent", "pence"].includes(tokens[next + 1]?.word ?? "")) return "It is not said in one number.";
  const of = SIGNS.has(tokens[at - 1]?.word ?? "") ? at - 2 : at - 1;
  const isPart = ["the", "a"].includes(tokens[of]?.word ?? "") ? tokens[of - 1]?.word === "of" : false;
  return isPart ? "It is a part of it." : undefined;
}

const isPercent = (word: string | undefined, next: string | undefined): boolean =>
  ["%", "percent", "pct"].includes(word ?? "") || (word === "per" && next === "cent");

/** How the field takes a percentage: as it is written, or one cannot know. */
function percentKind({ name, title }: FormField): "written" | "unknown" | undefined {
  if (/percent|pct|discount/.test(name) || title.includes("%")) return "written";
  return /(^|_)(rate|ratio|share|fraction|vat|tax)(_|$)/.test(name) ? "unknown" : undefined;
}

function asPercent(sentence: Sentence, field: FormField, fields: FormField[]): Place[] {
  const kind = percentKind(field);
  if (kind === undefined) return [];
  const { tokens } = sentence;
  const isOnly = fields.filter((other) => percentKind(other) !== undefined).length === 1;
  const found: Place[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const said = numberAt(tokens, at);
    if (!said || !isPercent(tokens[said.end]?.word, tokens[said.end + 1]?.word)) continue;
    const end = said.end + (tokens[said.end]!.word === "per" ? 2 : 1);
    if (!isOnly && !isNearName(sentence, field, at, end)) continue;
    const reason = kind === "unknown" ? "It is not known whether 10 % is 10 or 0.1." : undefined;
    found.push(...placeOf(sentence, at, at, said, end).map((place) => ({ ...place, reason: place.reason ?? reason })));
  }
  return found;
}

/** The unit of time in which the field counts. */
const unitOf = (field: FormField): string | undefined =>
  [...wordsOf(field.name.replaceAll("_", " ")), ...wordsOf(field.title)]
    .map(timeUnitOf)
    .find((unit) => unit !== undefined);

/** `3 weeks overdue` for `days_overdue`; `an hour`. */
function asTime(sentence: Sentence, field: FormField): Place[] {
  const own = unitOf(field);
  if (own === undefined) return [];
  const { tokens } = sentence;
  const found: Place[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const isOne = ["a", "an"].includes(tokens[at]!.word) && timeUnitOf(tokens[at + 1]?.word) !== undefined;
    const said = isOne ? { value: 1, end: at + 1 } : numberAt(tokens, at);
    const unit = said && timeUnitOf(tokens[said.end]?.word);
    if (!said || !unit || !isNearName(sentence, field, at, said.end + 1)) continue;
    const value = "exact" in said && said.exact ? undefined : converted(said.value, unit, own);
    const reason = value === undefined ? "It is not known how long that is." : undefined;
    const places = placeOf(sentence, at, at, said, said.end + 1);
    at = said.end;
    found.push(...places.map((place) => ({ ...place, value: value ?? 0, reason: place.reason ?? reason })));
  }
  return found;
}

/** A word of the field's name that is no unit stands up to four words before, or two behind. */
function isNearName({ tokens }: Sentence, field: FormField, start: number, end: number): boolean {
  const telling = wordsOf(field.name.replaceAll("_", " ")).filter((word) => timeUnitOf(word) === undefined && word.length > 2); // prettier-ignore
  if (telling.includes("discount") && tokens[end]?.word === "off") return true;
  if (telling.includes("overdue") && tokens[end]?.word === "past" && tokens[end + 1]?.word === "due") return true;
  const near = [...tokens.slice(Math.max(0, start - 4), start), ...tokens.slice(end, end + 2)];
  return near.some(({ word, kind }) => kind === "word" && telling.some((other) => isNear(word, other)));
}

/** `the third attempt`, `page two` is beside the name. */
function asPosition(sentence: Sentence, field: FormField): Place[] {
  if (!POSITIONS.test(field.name)) return [];
  return labelled(sentence, field).flatMap(({ start, end }) => {
    const ordinal = ordinalOf(sentence.tokens[start - 1]?.word);
    const isOwn = ordinal !== undefined && isFree(sentence, start - 1) && !sentence.negated[start - 1];
    return isOwn ? [{ value: ordinal + 1, start: start - 1, end }] : [];
  });
}
