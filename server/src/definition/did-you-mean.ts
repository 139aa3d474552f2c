/** The nearest of some known words to a mistyped one. */

/** Longer words are no typing mistakes, and comparing them costs length × length. */
const LONGEST = 40;
const MOST_CANDIDATES = 500;

/** The nearest candidate within a third of the word's length, at most three changes; of two letters nothing is left then. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > LONGEST) return undefined;
  let best: string | undefined;
  let bestDistance = Math.min(3, Math.floor(word.length / 3)) + 1;
  let compared = 0;
  for (const candidate of candidates) {
    if (++compared > MOST_CANDIDATES) break;
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = levenshtein(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** `; did you mean "x"?`, else the known words, else nothing. */
export function hint(word: string, candidates: Iterable<string>): string {
  const known = [...new Set(candidates)];
  const near = nearest(word, known);
  if (near !== undefined) return `; did you mean ${JSON.stringify(near)}?`;
  return known.length > 0 && known.length <= 16 ? `; known here: ${known.join(", ")}` : "";
}

/** Insertions, deletions, replacements and swaps of neighbours. */
function levenshtein(one: string, other: string): number {
  let before: number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const same = one[i - 1] === other[j - 1];
      let cost = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1])
        cost = Math.min(cost, before[j - 2]! + 1);
      next.push(cost);
    }
    [before, row] = [row, next];
  }
  return row[other.length]!;
}
