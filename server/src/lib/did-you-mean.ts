/** Finds the known word nearest to a mistyped one. */
import { distance } from "fastest-levenshtein";

/** A longer word is not a typing mistake. */
const LONGEST = 40;
const MAX_COMPARED = 500;
/** How many words are listed if none is near. */
const MAX_LISTED = 16;
const MAX_CHANGES = 3;

/** The nearest candidate within a third of the word's length, and at most three changes. A word of two letters has none. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > LONGEST) return undefined;
  const lower = word.toLowerCase();
  let best: string | undefined;
  let most = Math.min(MAX_CHANGES, Math.floor(word.length / 3));
  let left = MAX_COMPARED;
  for (const candidate of candidates) {
    if (left-- === 0 || most < 0) break;
    if (Math.abs(candidate.length - word.length) > most) continue;
    const changes = changesBetween(lower, candidate.toLowerCase());
    if (changes <= most) [best, most] = [candidate, changes - 1];
  }
  return best;
}

/** `; did you mean "x"?`, else the known words if they are few, else nothing. */
export function hint(word: string, candidates: Iterable<string>): string {
  const near = nearest(word, candidates);
  if (near !== undefined) return `; did you mean ${JSON.stringify(near)}?`;
  const known = new Set<string>();
  for (const candidate of candidates) if (known.add(candidate).size > MAX_LISTED) return "";
  return known.size > 0 ? `; known here: ${[...known].join(", ")}` : "";
}

/** Insertions, deletions and replacements. Two swapped neighbours, the commonest slip, are one change: `titel` is near `title`. */
export const changesBetween = (one: string, other: string): number =>
  isSwapped(one, other) ? 1 : distance(one, other);

function isSwapped(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let at = 0;
  while (at < one.length - 2 && one[at] === other[at]) at++;
  const isSwap = one[at] === other[at + 1] && one[at + 1] === other[at];
  return isSwap && one !== other && one.endsWith(other.slice(at + 2));
}
