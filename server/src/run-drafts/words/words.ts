/** Words of English that the parser knows, and how near two words are. */
import { changesBetween } from "../../lib/did-you-mean.ts";

const MONTHS = words("january february march april may june july august september october november december");
const WEEKDAYS = words("monday tuesday wednesday thursday friday saturday sunday");
const ORDINALS = words("first second third fourth fifth sixth seventh eighth ninth tenth");
const COUNTS = words(
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty",
);
const TENS = words("x x twenty thirty forty fifty sixty seventy eighty ninety");

/** Negate what follows them, up to the end of its part of the sentence. */
export const NEGATIONS = new Set(
  words(
    "not no without w/o don't dont doesn't didn't never except excluding exclude excludes skip skipping omit omitting minus isn't aren't shouldn't cannot can't won't needn't neither nor",
  ),
);
/** These negate no more than a thing: `without tests to production`. */
export const NEGATES_THING = new Set(words("no without w/o skip skipping omit omitting minus"));
/** After a negation they turn it around: `don't forget to`, `do not skip`. */
export const UNDOES = new Set(words("forget skip omit exclude only"));
/** `no later than` and `no rush` deny nothing. */
export const NO_DENIAL = new Set(words("later earlier more less fewer problem rush hurry matter worries doubt"));
export const HEDGES = new Set(words("maybe perhaps possibly probably might unsure"));
/** Say nothing by themselves. */
export const FILLERS = new Set(
  words(
    "a an or the please for of to in on at with and as by it me my is be this that i we us our you your from give get make do want need would like can could also just then so so's let's using use hello hi hey dear thanks thank pls kindly well okay ok there here are was were been am would shall should have has had he she they him her them their its these those who which some very too",
  ),
);
/** At the beginning these ask for the run itself, or only say that something is to be done. */
export const REQUESTS = new Set(words("run start pay order book file submit record register create add make send put set enter write prepare process handle say tell ask")); // prettier-ignore
/** Too common to mean a choice without its field's name beside them. */
export const COMMON = new Set(
  words(
    "other others all any none no yes on off now new old default same more most finally lately really newly shortly currently normally usually mainly",
  ),
);

/** The adverb of an adjective: `formally`, `gently`, `angrily`. */
export const adverbOf = (word: string): string =>
  word.endsWith("le") ? `${word.slice(0, -1)}y` : word.endsWith("y") ? `${word.slice(0, -1)}ily` : `${word}ly`;

/** By a choice's value or a word of its title: what people also call it. */
const SYNONYMS = new Map(
  Object.entries({
    eur: "euro euros €",
    usd: "dollar dollars $ bucks",
    gbp: "pound pounds £ quid",
    jpy: "yen ¥",
    excel: "spreadsheet xls xlsx",
    production: "prod live",
    staging: "stage",
    development: "dev",
    friendly: "gentle kind polite",
    firm: "stern strict",
    notify: "inform alert tell email",
    damaged: "broken defective cracked faulty",
    late: "delayed",
    deploy: "ship release",
    refund: "reimburse",
    onboard: "hire",
    urgent: "asap",
    engineering: "engineers developers",
    people: "hr",
    europe: "european",
    america: "american americas",
    germany: "german",
    france: "french",
  }).map(([word, also]) => [word, words(also)]),
);
export const synonymsOf = (word: string): string[] => SYNONYMS.get(word) ?? [];

function words(text: string): string[] {
  return text.split(" ");
}

/** `12`, `twelve`, `forty`, `forty-two`. */
export function countOf(word: string | undefined): number | undefined {
  if (word === undefined) return undefined;
  if (/^-?\d+(\.\d+)?$/.test(word)) return Number(word);
  const count = COUNTS.indexOf(word);
  if (count >= 0) return count;
  const [ten, one] = word.split("-", 2);
  const tens = TENS.indexOf(ten!);
  const ones = one === undefined ? 0 : COUNTS.indexOf(one);
  return tens >= 2 && (one === undefined || (ones >= 1 && ones <= 9)) ? tens * 10 + ones : undefined;
}

/** `third`, `3rd` → 2. */
export function ordinalOf(word: string | undefined): number | undefined {
  const digits = /^(\d{1,3})(st|nd|rd|th)$/.exec(word ?? "");
  if (digits) return Number(digits[1]) >= 1 ? Number(digits[1]) - 1 : undefined;
  const index = ORDINALS.indexOf(word ?? "");
  return index >= 0 ? index : undefined;
}

/** `january`, `jan`, `sept` → 0 to 11. */
export const monthNamed = (word: string | undefined): number => named(MONTHS, word);
export const weekdayNamed = (word: string | undefined): number => named(WEEKDAYS, word);

function named(names: string[], word: string | undefined): number {
  if (word === undefined || word.length < 3) return -1;
  const plain = word.replace(/\.$/, "");
  const exact = names.findIndex((name) => name === plain || (plain.length <= 4 && name.startsWith(plain)));
  if (exact >= 0) return exact;
  return plain.length >= 6 ? names.findIndex((name) => name.length >= 6 && isNear(plain, name)) : -1;
}

/** `tagged`, `tags` → `tag`; `running` → `run`; `notifies`, `notifying` → `notify`. Rough, and the same on both sides. */
export function stem(word: string): string {
  if (word.length < 4) return word;
  let bare = word.replace(/ies$/, "y").replace(/(ing|ed|s)$/, "");
  if (bare.length < 3) bare = word;
  if (bare !== word && /([^aeiousl])\1$/.test(bare)) bare = bare.slice(0, -1);
  return bare.length > 3 ? bare.replace(/e$/, "") : bare;
}

const LONGEST = 40;

/** The same word, another form of it, or mistyped: one change from five letters on, two from eight on. */
export function isNear(word: string, known: string): boolean {
  if (word === known) return true;
  if (word[0] !== known[0]) return false;
  if (word.length > LONGEST || known.length > LONGEST) return false;
  if (stem(word) === stem(known)) return true;
  const shorter = Math.min(word.length, known.length);
  const most = shorter >= 8 ? 2 : shorter >= 5 ? 1 : 0;
  if (most === 0 || Math.abs(word.length - known.length) > most || /\d/.test(word)) return false;
  return changesBetween(word, known) <= most;
}
