/** The nearest of some known words to a mistyped one. */

/** Longer words are no typing mistakes. */
const LONGEST = 40;
const MOST_COMPARED = 500;
/** Words that are shown when none is near. */
const MOST_SHOWN = 16;
const MOST_CHANGES = 3;

/** The nearest candidate within a third of the word's length, at most three changes; of two letters nothing is left then. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > LONGEST) return undefined;
  const lower = word.toLowerCase();
  let best: string | undefined;
  let most = Math.min(MOST_CHANGES, Math.floor(word.length / 3));
  let left = MOST_COMPARED;
  for (const candidate of candidates) {
    if (left-- === 0 || most < 0) break;
    if (Math.abs(candidate.length - word.length) > most) continue;
    const changes = changesBetween(lower, candidate.toLowerCase(), most);
    if (changes <= most) [best, most] = [candidate, changes - 1];
  }
  return best;
}

/** `; did you mean "x"?`, else the known words, else nothing. */
export function hint(word: string, candidates: Iterable<string>): string {
  const near = nearest(word, candidates);
  if (near !== undefined) return `; did you mean ${JSON.stringify(near)}?`;
  const known = new Set<string>();
  for (const candidate of candidates) if (known.add(candidate).size > MOST_SHOWN) return "";
  return known.size > 0 ? `; known here: ${[...known].join(", ")}` : "";
}

/**
 * Insertions, deletions, replacements and swaps of neighbours; `most + 1` when there are more than `most`. Only places
 * that few changes can reach are looked at: 7 of a row's 40, and no more when a row has none within reach.
 */
function changesBetween(one: string, other: string, most: number): number {
  const far = most + 1;
  let before: number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = Array<number>(other.length + 1).fill(far);
    if (i <= most) next[0] = i;
    let least = next[0]!;
    for (let j = Math.max(1, i - most); j <= Math.min(other.length, i + most); j++) {
      const same = one[i - 1] === other[j - 1];
      let changes = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1])
        changes = Math.min(changes, before[j - 2]! + 1);
      next[j] = changes;
      least = Math.min(least, changes);
    }
    if (least > most) return far;
    [before, row] = [row, next];
  }
  return Math.min(far, row[other.length]!);
}
