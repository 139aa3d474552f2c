/** Who it is about, addresses, versions and quoted texts: what shows by its shape which field it is for. */
import type { FormField } from "../../definition/form/form.ts";
import {
  doubt,
  fill,
  isEmpty,
  isFree,
  labelled,
  labelsOf,
  nameWords,
  use,
  wordsOf,
  type Sentence,
} from "./sentence.ts";
import { FILLERS, isNear, monthNamed, REQUESTS, weekdayNamed } from "../words/words.ts";

export const isMail = (text: string): boolean => /^[^@/]+@[^@]+\.[^@.]+$/.test(text);
export const isUrl = (text: string): boolean => /^(https?:\/\/|www\.)/i.test(text);
const isCapital = (text: string | undefined): boolean => text !== undefined && /^\p{Lu}/u.test(text);

const PARTICLES = new Set(["de", "la", "van", "von", "der", "den", "di", "da", "del", "bin", "al", "y"]);

/** The token behind the words with capitals. */
export function capitalsAt(sentence: Sentence, from: number): number {
  const { tokens } = sentence;
  let at = from;
  while (
    tokens[at]?.kind === "word" &&
    isFree(sentence, at) &&
    (isCapital(tokens[at]!.text) || (at > from && PARTICLES.has(tokens[at]!.word) && isCapital(tokens[at + 1]?.text)))
  )
    at++;
  return at;
}

/** Words that begin many sentences, so their capital does not mean a name. */
const VERBS = new Set(["add", "ask", "bill", "chase", "charge", "create", "deploy", "email", "give", "hire", "invite", "invoice", "mail", "make", "message", "notify", "onboard", "order", "pay", "please", "prepare", "refund", "register", "remind", "remove", "return", "run", "send", "set", "start", "summarise", "summarize", "tell", "update", "welcome", "write", "hi", "hello", "hey", "thanks", "can", "could", "would", "what", "who", "when", "where", "how", "has", "have", "new", "all", "any", "there", "some", "today", "dear", "greet"]); // prettier-ignore

const ASKS_NAME = /name|person|employee|customer|client|company|vendor|supplier/;

/** The one empty text that asks for a name. */
export function nameField(sentence: Sentence, fields: FormField[]): FormField | undefined {
  const asking = fields.filter(({ type, name }) => type === "text" && ASKS_NAME.test(name));
  return asking.length === 1 && isEmpty(sentence, asking[0]!) ? asking[0] : undefined;
}

/** Two or more words with capitals in a row that nothing else explains. */
export function readPerson(sentence: Sentence, fields: FormField[], explained: Set<string>): void {
  const field = nameField(sentence, fields);
  if (!field) return;
  const runs = capitalRuns(sentence, explained).filter(([start, end]) => end - start >= 2);
  const [first, last] = [runs[0], runs.at(-1)];
  if (!first || !last) return;
  if (runs.length === 1) fillFrom(sentence, field, first[0], first[0], first[1]);
  else
    doubt(
      sentence,
      field,
      "More than one name is in the sentence.",
      runs.map(([start, end]) => ({ start, end })),
    );
}

/** One word with a capital, when everything else was read: `remind Globex`. At the beginning of a sentence a capital says nothing. */
export function readOneWord(sentence: Sentence, fields: FormField[], explained: Set<string>): void {
  const field = nameField(sentence, fields);
  if (!field || sentence.left < 0) return;
  const known = new Set(fields.flatMap((other) => [...labelsOf(other).flat(), ...(other.choices ?? []).slice(0, 50).flatMap(({ value, title }) => [...wordsOf(value), ...wordsOf(title)])])); // prettier-ignore
  const runs = capitalRuns(sentence, explained).filter(([start]) => {
    const { word, text } = sentence.tokens[start]!;
    const isBegin = start === 0 || /^[.!?:]$/.test(sentence.tokens[start - 1]!.word);
    const isAbbreviation = text.length <= 3 && text === text.toUpperCase();
    return !isBegin && !isAbbreviation && !sentence.negated[start] && !isNearAny(sentence, word, known);
  });
  const [first, last] = [runs[0], runs.at(-1)];
  if (!first || !last) return;
  if (runs.length === 1) fillFrom(sentence, field, first[0], first[0], first[1]);
  else
    doubt(
      sentence,
      field,
      "More than one name is in the sentence.",
      runs.map(([start, end]) => ({ start, end })),
    );
}

/** Takes an address for who the run is about, if no field takes addresses and the sentence has no name. */
export function readPersonsMail(sentence: Sentence, fields: FormField[]): void {
  const field = nameField(sentence, fields);
  if (!field || fields.some(takesMails)) return;
  const places = sentence.tokens.flatMap(({ text, kind }, at) =>
    kind === "word" && isMail(text) && isFree(sentence, at) && !sentence.negated[at] ? [at] : [],
  );
  if (places.length === 1) fillFrom(sentence, field, places[0]!, places[0]!, places[0]! + 1);
}

/** When no comparison is left, it is taken for one of them: nothing is filled that was not looked at. */
function isNearAny(sentence: Sentence, word: string, known: ReadonlySet<string>): boolean {
  for (const other of known) if (sentence.left-- < 0 || isNear(word, other)) return true;
  return false;
}

/** Rows of words with capitals, but no days, and no verb that begins the sentence. */
export function capitalRuns(sentence: Sentence, explained: Set<string>): [start: number, end: number][] {
  const { tokens } = sentence;
  const runs: [number, number][] = [];
  for (let at = 0; at < tokens.length; at++) {
    const { word } = tokens[at]!;
    const isBegin = at === 0 || /^[.!?:]$/.test(tokens[at - 1]!.word);
    if (explained.has(word) || (isBegin && (VERBS.has(word) || REQUESTS.has(word)))) continue;
    const end = capitalsAt(sentence, at);
    const words = tokens.slice(at, end).map((token) => token.word);
    const isDate = words.every((each) => monthNamed(each) >= 0 || weekdayNamed(each) >= 0);
    if (FILLERS.has(words[0] ?? "")) continue;
    if (end > at && !isDate) runs.push([at, end]);
    if (end > at) at = end - 1;
  }
  return runs;
}

/** The value is from `begin` up to `end`; its name from `start`. */
export function fillFrom(sentence: Sentence, field: FormField, start: number, begin: number, end: number): void {
  const value = sentence.text.slice(sentence.tokens[begin]!.start, sentence.tokens[end - 1]!.end);
  fill(sentence, field, value, start, end);
}

const oneAt = (at: number): { start: number; end: number } => ({ start: at, end: at + 1 });

const VERSION = /^v?\d+(\.\d+){1,3}([-+][\w.+-]*)?$/i;
const PLAIN_VERSION = /^(v\d+|v?\d+\.\d+\.\d+|v\d+\.\d+)/i;

/** `1.4.2`, `v2` where one field asks for a version. */
export function readVersion(sentence: Sentence, fields: FormField[]): void {
  const asking = fields.filter(({ type, name }) => type === "text" && /version|release/.test(name));
  const [field] = asking;
  if (!field || asking.length > 1) return;
  const places = sentence.tokens.flatMap(({ text, kind }, at) => {
    const isVersion = (VERSION.test(text) || /^v\d+$/i.test(text)) && PLAIN_VERSION.test(text) && !/\.(19|20)\d\d$/.test(text); // prettier-ignore
    return isVersion && kind !== "quote" && isFree(sentence, at) && !sentence.negated[at] ? [at] : [];
  });
  const [first, last] = [places[0], places.at(-1)];
  if (first === undefined || last === undefined) return;
  const known = sentence.found.get(field.name);
  const values = new Set([...places.map((at) => sentence.tokens[at]!.text), ...(known ? [known.value] : [])]);
  if (values.size > 1) doubt(sentence, field, "More than one version is in the sentence.", places.map(oneAt));
  else if (!known) fillFrom(sentence, field, first, first, first + 1);
}

const ASKS_CODE = /(^|_)(id|number|no|code|ref|reference|order|ticket|invoice|case|sku|key)(_|$)/;

/** `ORD-77120` or `66120` where one field asks for a number of that kind, and every field for a quantity has its own. */
export function readCode(sentence: Sentence, fields: FormField[]): void {
  const asking = fields.filter(({ type, name }) => type === "text" && ASKS_CODE.test(name));
  const [field] = asking;
  if (!field || asking.length > 1 || !isEmpty(sentence, field)) return;
  const isCounted = fields.every((other) => !["number", "integer"].includes(other.type) || !isEmpty(sentence, other));
  const places = sentence.tokens.flatMap(({ text, kind }, at) => {
    const isCode = (kind === "word" && /^[A-Z]{1,6}-?\d{3}[\w-]*$/.test(text)) || (isCounted && /^\d{5,}$/.test(text));
    return isCode && isFree(sentence, at) && !sentence.negated[at] ? [at] : [];
  });
  const [first] = places;
  if (first === undefined) return;
  const values = new Set(places.map((at) => sentence.tokens[at]!.text));
  if (values.size > 1) doubt(sentence, field, `It could be ${[...values].join(" or ")}.`, places.map(oneAt));
  else fillFrom(sentence, field, first, first, first + 1);
}

const TAKES_MAILS = /recipient|mail|^cc$|^bcc$|^to$|people|attendee|reviewer|watcher/;
const isMailList = ({ type, name, choices }: FormField): boolean =>
  type === "list" && !choices && TAKES_MAILS.test(name);
export const wantsMail = ({ name, title, type }: FormField): boolean =>
  type === "text" &&
  ([...nameWords(name), ...wordsOf(title)].some((word) => /^e?mail$/.test(word)) || /\be-mail\b/i.test(title));

/** An address is for such a field; without one it says who any other field is about. */
export const takesMails = (field: FormField): boolean => wantsMail(field) || isMailList(field);

const URL_WORDS = new Set(["url", "link", "website", "webpage", "webhook", "endpoint", "uri", "href", "site", "page"]);
const wantsUrl = ({ name, title, type }: FormField): boolean =>
  type === "text" && [...nameWords(name), ...wordsOf(title)].some((word) => URL_WORDS.has(word));

/** The one URL of the sentence, for the one text that asks for one. */
export function readUrl(sentence: Sentence, fields: FormField[]): void {
  const [field, ...others] = fields.filter((one) => wantsUrl(one) && isEmpty(sentence, one));
  const places = sentence.tokens.flatMap(({ text }, at) =>
    isUrl(text) && isFree(sentence, at) && !sentence.negated[at] ? [at] : [],
  );
  const [first] = places;
  if (!field || others.length > 0 || first === undefined) return;
  if (places.length === 1) fillFrom(sentence, field, first, first, first + 1);
  else doubt(sentence, field, "More than one URL is in the sentence.", places.map(oneAt));
}

/** Addresses that no text's name stands before: behind a list's name they are its own, the others are for the only field that is left. */
export function readMails(sentence: Sentence, fields: FormField[]): void {
  const lists = fields.filter((field) => isMailList(field) && isEmpty(sentence, field));
  const texts = fields.filter((field) => wantsMail(field) && isEmpty(sentence, field));
  const free = (at: number): boolean => {
    const token = sentence.tokens[at];
    return token?.kind === "word" && isMail(token.text) && isFree(sentence, at) && !sentence.negated[at];
  };
  for (const list of lists) {
    const label = labelled(sentence, list).find(({ end }) => free(end));
    if (!label) continue;
    let last = label.end;
    const places = [last];
    for (let at = last + 1; free(at) || /^(,|and|&|;|or)$/.test(sentence.tokens[at]?.word ?? ""); at++)
      if (free(at)) places.push((last = at));
    // Without a list of another name, what stands elsewhere is for this one too.
    if (lists.length + texts.length > 1 || !sentence.tokens.some((_, at) => at > last && free(at)))
      fillMails(sentence, list, places, label.start);
  }
  const left = [...lists, ...texts].filter((field) => isEmpty(sentence, field));
  const places = sentence.tokens.flatMap((_, at) => (free(at) ? [at] : []));
  const [field] = left;
  if (!field || places.length === 0 || left.length > 1) return;
  if (field.type === "list") return fillMails(sentence, field, places);
  const values = new Set(places.map((at) => sentence.tokens[at]!.text));
  if (values.size === 1) fillFrom(sentence, field, places[0]!, places[0]!, places[0]! + 1);
  else doubt(sentence, field, "More than one address is in the sentence.", places.map(oneAt));
}

function fillMails(sentence: Sentence, field: FormField, places: number[], start?: number): void {
  const label = labelled(sentence, field).find(({ end }) => end === places[0]);
  const values = places.map((at) => sentence.tokens[at]!.text);
  for (const at of places) use(sentence, at, at + 1);
  const [first, last] = [start ?? label?.start ?? places[0]!, places.at(-1)! + 1];
  const isRow = last - places[0]! <= 2 * places.length + 1;
  if (isRow) fill(sentence, field, [...new Set(values)], first, last);
  else doubt(sentence, field, "The addresses stand apart from each other.", places.map(oneAt));
}

/** The one quoted text of the sentence, for the one text of the form, where it looks like what that asks for. */
export function readQuote(sentence: Sentence, fields: FormField[]): void {
  const texts = fields.filter((field) => field.type === "text" && !wantsMail(field));
  const isOpen = fields.some((field) => field.type === "list" && !field.choices && !isMailList(field));
  const places = sentence.tokens.flatMap(({ kind }, at) => (kind === "quote" && isFree(sentence, at) ? [at] : []));
  const [field, at] = [texts[0], places[0]];
  if (!field || texts.length > 1 || isOpen || at === undefined || places.length > 1 || !isEmpty(sentence, field))
    return;
  const { text } = sentence.tokens[at]!;
  if (sentence.negated[at]) return;
  if (/(^|_)(id|code|number|no|ref|order|key|sku|version)(_|$)/.test(field.name) && !/\d/.test(text)) return;
  if (ASKS_NAME.test(field.name) && !isCapital(text)) return;
  fill(sentence, field, text, at, at + 1);
}
