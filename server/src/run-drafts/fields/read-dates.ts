/** Which date field each period of the sentence belongs to. */
import type { FormField } from "../../definition/form/form.ts";
import { mentionsOf, type Mention } from "../dates/dates.ts";
import { isoOf } from "../dates/days.ts";
import {
  doubt,
  fill,
  isEmpty,
  isFree,
  labelsOf,
  nameWords,
  phraseAt,
  use,
  wordsOf,
  type Sentence,
} from "./sentence.ts";

const BEGINS = /^(from|since|start|begin|after)(_|$)|_(from|since|start)$/;
const ENDS = /^(to|until|till|end|through)(_|$)|_(to|until|end)$/;

/** The fields that a period begins and ends in. */
export function pairOf(fields: readonly FormField[]): [FormField, FormField] | undefined {
  const dates = fields.filter(({ type }) => type === "date");
  const end = dates.find(({ name }) => ENDS.test(name));
  const begin = end && dates.find(({ name }) => BEGINS.test(name));
  return begin && [begin, end];
}

/** Words of a field for a past day: what was spent on 3 November was spent on the most recent one. */
const PAST = new Set(["spent", "paid", "bought", "purchased", "happened", "occurred", "received", "incurred", "expense", "birth", "birthday", "born", "hired", "joined", "sent", "issued", "signed", "visited", "travelled", "traveled", "worked", "incident", "reported", "since", "from", "past", "last", "previous", "was", "began", "started", "ordered", "delivered", "completed", "closed"]); // prettier-ignore
const COMING = new Set(["due", "by", "until", "deadline", "expires", "next", "planned"]);

const isPast = ({ name, title }: FormField): boolean => {
  const said = new Set([...nameWords(name), ...wordsOf(title)]);
  return !said.isDisjointFrom(PAST) && said.isDisjointFrom(COMING);
};

export function readDates(sentence: Sentence, fields: FormField[], today: number): void {
  const dates = fields.filter(({ type }) => type === "date");
  const [begin, end] = pairOf(fields) ?? [];
  const single = begin ? dates.filter((field) => field !== begin && field !== end) : dates;
  const isEither = !begin && single.length === 1 && /before/.test(single[0]!.name);
  const read = (ahead: boolean): Mention[] =>
    mentionsOf({ tokens: sentence.tokens, today, ahead, known: new Map(), isEither }, (at) =>
      isFree(sentence, at),
    ).filter(({ start }) => !sentence.negated[start]);
  let mentions = dates.length === 0 ? [] : read(begin === undefined && !dates.some(isPast));
  // If one field looks back and another ahead, each reads the day in its own way.
  const ahead = begin === undefined && dates.some(isPast) && !dates.every(isPast) ? read(true) : mentions;
  for (const field of single) {
    const own = mentions.filter((mention) => isLabelled(sentence, field, mention));
    const meant = own.length > 0 ? own : single.length === 1 && !begin ? mentions : [];
    const inItsWay = isPast(field) ? meant : meant.map((one) => ahead.find(({ start }) => start === one.start) ?? one);
    readDay(sentence, field, inItsWay);
    mentions = mentions.filter((mention) => !meant.includes(mention));
  }
  if (begin && end) readPeriod(sentence, [begin, end], mentions, today);
}

/** The field's name stands right before the date, or is part of it: `due before 1 December`. */
function isLabelled(sentence: Sentence, field: FormField, { start }: Mention): boolean {
  return labelsOf(field).some((label) => {
    for (let at = Math.max(0, start - label.length - 2); at <= start; at++) {
      const end = phraseAt(sentence, at, label);
      if (end !== undefined && end >= start && end <= start + 1) return true;
      if (end !== undefined && end === start - 1 && [":", "is", "on", "=", "of"].includes(sentence.tokens[end]!.word))
        return true;
    }
    return false;
  });
}

function readDay(sentence: Sentence, field: FormField, mentions: Mention[]): void {
  const [first, last] = [mentions[0], mentions.at(-1)];
  if (!first || !last || !isEmpty(sentence, field)) return;
  const doubted = (reason: string): void => doubt(sentence, field, reason, mentions);
  if (first.reason !== undefined) return doubted(first.reason);
  const days = new Set(mentions.flatMap(({ span }) => (span ? [span.from, span.to] : [])));
  if (mentions.length > 1 && days.size > 1) return doubted("More than one day is in the sentence.");
  if (!first.span) return doubted("There is no such day.");
  if (days.size > 1) return doubted("It takes one day, not a period.");
  const isDue = /due|deadline|before|until|till|by|end|expir/.test(field.name);
  const isBound = isDue || ["until", "before"].includes(first.kind);
  if (first.edge && (first.edge === "middle" || !isBound)) return doubted("It is not said which day.");
  if (first.kind === "after" || (first.kind === "before" && !isDue)) return doubted("It is not said which day.");
  const label = labelStart(sentence, field, first.start);
  fill(sentence, field, isoOf(first.span.from), label, first.end);
}

/** From the field's name, if it stands right before. */
function labelStart(sentence: Sentence, field: FormField, start: number): number {
  for (const label of labelsOf(field))
    for (let at = Math.max(0, start - label.length - 1); at < start; at++) {
      const end = phraseAt(sentence, at, label);
      if (end !== undefined && end >= start - 1 && isFree(sentence, at, start)) return at;
    }
  return start;
}

/** One period for both, or a `since` and an `until`. What is `since` goes on up to today. */
function readPeriod(
  sentence: Sentence,
  [begin, end]: [FormField, FormField],
  mentions: Mention[],
  today: number,
): void {
  const [first, last] = [mentions[0], mentions.at(-1)];
  if (!first || !last) return;
  const doubted = (reason: string): void => {
    for (const field of [begin, end]) doubt(sentence, field, reason, mentions);
  };
  const broken = mentions.find(({ reason, span }) => reason !== undefined || !span);
  if (broken) return doubted(broken.reason ?? "There is no such day.");
  const whole = mentions.filter(({ kind }) => kind === "whole");
  const since = mentions.filter(({ kind }) => kind === "since" || kind === "after");
  const until = mentions.filter(({ kind }) => kind === "until" || kind === "before");
  if (whole.some(({ edge }) => edge)) return doubted("It is not said which days.");
  if (whole.length > 1 || since.length > 1 || until.length > 1 || (whole.length > 0 && mentions.length > 1))
    return doubted("More than one period is in the sentence.");
  for (const mention of mentions) use(sentence, mention.start, mention.end);
  if (whole[0]) {
    fill(sentence, begin, isoOf(whole[0].span!.from), whole[0].start, whole[0].end);
    fill(sentence, end, isoOf(whole[0].span!.to), whole[0].start, whole[0].end);
    return;
  }
  const from = since[0] && (since[0].kind === "after" ? since[0].span!.to + 1 : since[0].span!.from);
  // Before the end of June is up to its last day.
  const isBefore = until[0]?.kind === "before" && until[0].edge !== "end";
  const to = until[0] && (isBefore ? until[0].span!.from - 1 : until[0].span!.to);
  if (from !== undefined && to !== undefined && from > to) return doubted("It ends before it begins.");
  if (since[0]) fill(sentence, begin, isoOf(from!), since[0].start, since[0].end);
  if (until[0]) fill(sentence, end, isoOf(to!), until[0].start, until[0].end);
  else if (since[0] && from! <= today) fill(sentence, end, isoOf(today), since[0].start, since[0].end);
}
