/** Finds the known word nearest to a mistyped one. */

/** A longer word is not a typing mistake. */
const LONGEST = 40;
const MOST_COMPARED = 500;
/** How many words are shown if none is near. */
const MOST_SHOWN = 16;
const MOST_CHANGES = 3;

/** The nearest candidate within a third of the word's length, and at most three changes. A word of two letters has none. */
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

/** Three rows of the table below, reused: allocating them took four fifths of the time. */
const ROWS = Array.from({ length: 3 }, () => new Uint8Array(LONGEST + MOST_CHANGES + 2)) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
];

/**
 * Insertions, deletions, replacements and swaps of neighbours; `most + 1` if there are more than `most`. Words of at most 40. Only cells
 * that few changes can reach are visited: 7 of a row's 40. It stops at a row that has none within reach.
 */
export function changesBetween(one: string, other: string, most: number): number {
  const far = most + 1;
  let [before, row, next] = ROWS;
  for (let j = 0; j <= other.length; j++) row[j] = Math.min(j, far);
  for (let i = 1; i <= one.length; i++) {
    const first = Math.max(1, i - most);
    const last = Math.min(other.length, i + most);
    const letter = one.charCodeAt(i - 1);
    const former = one.charCodeAt(i - 2);
    let least = (next[first - 1] = first === 1 ? Math.min(i, far) : far);
    for (let j = first; j <= last; j++) {
      const facing = other.charCodeAt(j - 1);
      let changes = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (letter === facing ? 0 : 1), far);
      if (i > 1 && j > 1 && letter === other.charCodeAt(j - 2) && former === facing)
        changes = Math.min(changes, before[j - 2]! + 1);
      next[j] = changes;
      if (changes < least) least = changes;
    }
    if (last < other.length) next[last + 1] = far;
    if (least > most) return far;
    [before, row, next] = [row, next, before];
  }
  return Math.min(far, row[other.length]!);
}
