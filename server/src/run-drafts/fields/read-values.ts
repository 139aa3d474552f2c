/** Texts and lists behind the field's name. */
import type { FormField } from "../../definition/form/form.ts";
import { capitalsAt, fillFrom, isMail, isUrl, takesMails, wantsMail } from "./read-names.ts";
import { doubt, fill, isFree, labelled, type Sentence } from "./sentence.ts";
import { FILLERS } from "../words/words.ts";

/** Behind its name: a quoted text, an id with a digit, a name with capitals; behind a colon whatever comes. */
export function readText(sentence: Sentence, field: FormField, fields: FormField[]): void {
  const { tokens } = sentence;
  const isForMail = wantsMail(field);
  for (const { start, end, isWritten } of labelled(sentence, field)) {
    const token = tokens[end];
    if (!token || !isFree(sentence, end) || sentence.negated[start]) continue;
    if (token.kind === "quote") return fill(sentence, field, token.text, start, end + 1);
    if (isForMail && !isMail(token.text)) continue;
    if (
      isUrl(token.text) ||
      (token.kind !== "sign" && (isMail(token.text) ? isForMail || !fields.some(takesMails) : /\d/.test(token.text)))
    )
      return fillFrom(sentence, field, start, end, end + 1);
    const capital = capitalsAt(sentence, end);
    if (capital > end) return fillFrom(sentence, field, start, end, capital);
    if (isWritten && token.kind !== "sign") {
      let last = end;
      while (last < tokens.length && isFree(sentence, last) && !/^[,;.!?]$/.test(tokens[last]!.word)) last++;
      return fillFrom(sentence, field, start, end, last);
    }
  }
}

const STOPS = new Set(["since", "from", "last", "this", "for", "in", "with", "without", "until", "of", "on", "by", "but", "not", "to", "please", "is", "are", "the", "before", "between"]); // prettier-ignore
const JOINS = new Set([",", "and", "&", "or"]);

/** `tags api, web and mobile`. Of several words without a comma one cannot tell which belong together, except behind a colon. */
export function readList(sentence: Sentence, field: FormField): void {
  const { tokens } = sentence;
  const isJoin = (at: number): boolean => at >= tokens.length || JOINS.has(tokens[at]!.word);
  for (const { start, end, isWritten } of labelled(sentence, field)) {
    if (sentence.negated[start]) continue;
    const items: string[] = [];
    let [at, last, isVague] = [end, end, false];
    while (at < tokens.length && isFree(sentence, at)) {
      const { kind, text, word } = tokens[at]!;
      if (JOINS.has(word)) {
        at++;
        continue;
      }
      if (kind === "sign" || STOPS.has(word) || (items.length > 0 && !JOINS.has(tokens[at - 1]!.word))) break;
      let next = at + 1;
      if (kind === "word") while (isWordOfItem(sentence, next, isJoin(next + 1))) next++;
      if (next > at + 1 && !isWritten) isVague = true;
      items.push(kind === "quote" ? text : sentence.text.slice(tokens[at]!.start, tokens[next - 1]!.end));
      at = last = next;
    }
    if (items.length === 0) continue;
    if (isVague)
      return doubt(sentence, field, "It cannot be told which words belong together.", [{ start, end: last }]);
    return fill(sentence, field, items, start, last);
  }
}

/** `in` of `sign in, log out`, but not that of `api in German`. */
function isWordOfItem(sentence: Sentence, at: number, isLast: boolean): boolean {
  const token = sentence.tokens[at];
  if (!token || token.kind === "sign" || token.kind === "quote" || !isFree(sentence, at) || JOINS.has(token.word))
    return false;
  return STOPS.has(token.word) ? isLast && token.word !== "please" : !FILLERS.has(token.word);
}
