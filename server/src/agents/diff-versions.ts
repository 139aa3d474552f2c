/**
 * Differences between two definitions, as `diff -u` writes them: line by line, with three lines around each change.
 * Removes and adds the fewest lines, by the greedy half of E. Myers, "An O(ND) Difference Algorithm" (1986).
 */
import { LIMITS } from "../lib/limits.ts";

// Beyond `diffLines` and `diffChanges`, all differing lines become one change: correct, but not the shortest. 1,000 changes cost
// 4 MB and 25 ms.
const AROUND = 3;
const NO_END = "\\ No newline at end of file";

/** Two changes have equal lines between them. Positions count from 0, `…End` is exclusive. */
type Change = { from: number; fromEnd: number; to: number; toEnd: number };

/** Empty if they are equal. `names` go into the two lines at the top. */
export function diffVersions(before: string, after: string, names = { before: "before", after: "after" }): string {
  if (before === after) return "";
  const old = linesOf(before);
  const now = linesOf(after);
  const numberOf = numbering();
  const hunks = grouped(changesOf(old.map(numberOf), now.map(numberOf))).map((changes) => hunk(changes, old, now));
  return `--- ${names.before}\n+++ ${names.after}\n${hunks.join("")}`;
}

/** With line ends; the last line may have none, and so differs from one that has. */
const linesOf = (text: string): string[] => (text === "" ? [] : text.split(/(?<=\n)/));

/** The same number for equal lines: 20 million comparisons of texts would take 120 ms. */
function numbering(): (line: string) => number {
  const numbers = new Map<string, number>();
  return (line) => {
    const number = numbers.get(line) ?? numbers.size;
    numbers.set(line, number);
    return number;
  };
}

function changesOf(old: number[], now: number[]): Change[] {
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let oldEnd = old.length;
  let nowEnd = now.length;
  while (oldEnd > start && nowEnd > start && old[oldEnd - 1] === now[nowEnd - 1]) {
    oldEnd--;
    nowEnd--;
  }
  const whole = { from: start, fromEnd: oldEnd, to: start, toEnd: nowEnd };
  if (old.length > LIMITS.diffLines || now.length > LIMITS.diffLines) return [whole];
  return shortest(old.slice(start, oldEnd), now.slice(start, nowEnd), start) ?? [whole];
}

/** Undefined if more than `diffChanges` lines would have to change. */
function shortest(old: number[], now: number[], offset: number): Change[] | undefined {
  const most = Math.min(LIMITS.diffChanges, old.length + now.length);
  /** For each diagonal (position in old minus position in now) the farthest position reached in old; one row per change. */
  const rows: Int32Array[] = [];
  let before = new Int32Array(3);
  for (let changes = 0; changes <= most; changes++) {
    // A row has a spare entry at each side, so its diagonal d is at d + changes + 1.
    const row = new Int32Array(2 * changes + 3);
    rows.push(row);
    for (let diagonal = -changes; diagonal <= changes; diagonal += 2) {
      let place = changes === 0 ? 0 : entry(before, changes, diagonal).place;
      while (place < old.length && place - diagonal < now.length && old[place] === now[place - diagonal]) place++;
      row[diagonal + changes + 1] = place;
      if (place >= old.length && place - diagonal >= now.length) return traced(rows, old.length, now.length, offset);
    }
    before = row;
  }
  return undefined;
}

/** How one more change enters a diagonal: by adding a line (from above) or removing one (from below). */
function entry(before: Int32Array, changes: number, diagonal: number): { place: number; isAdded: boolean } {
  const at = diagonal + changes;
  const [below, above] = [before[at - 1]!, before[at + 1]!];
  const isAdded = diagonal === -changes || (diagonal !== changes && below < above);
  return isAdded ? { place: above, isAdded } : { place: below + 1, isAdded };
}

/** Walks back from the end, joining adjacent changes. */
function traced(rows: Int32Array[], oldLines: number, nowLines: number, offset: number): Change[] {
  const found: Change[] = [];
  let diagonal = oldLines - nowLines;
  for (let changes = rows.length - 1; changes > 0; changes--) {
    const { place, isAdded } = entry(rows[changes - 1]!, changes, diagonal);
    const fromEnd = offset + place;
    const toEnd = offset + place - diagonal;
    const from = isAdded ? fromEnd : fromEnd - 1;
    const to = isAdded ? toEnd - 1 : toEnd;
    const next = found.at(-1);
    if (next && next.from === fromEnd && next.to === toEnd) Object.assign(next, { from, to });
    else found.push({ from, fromEnd, to, toEnd });
    diagonal += isAdded ? 1 : -1;
  }
  return found.toReversed();
}

/** Groups changes with so few lines between them that their context lines would meet. */
function grouped(changes: Change[]): Change[][] {
  const groups: Change[][] = [];
  for (const change of changes) {
    const last = groups.at(-1)?.at(-1);
    if (last && change.from - last.fromEnd <= 2 * AROUND) groups.at(-1)!.push(change);
    else groups.push([change]);
  }
  return groups;
}

function hunk(changes: Change[], old: string[], now: string[]): string {
  const [first, last] = [changes[0]!, changes.at(-1)!];
  const around = Math.min(AROUND, first.from);
  const [from, to] = [first.from - around, first.to - around];
  const after = Math.min(AROUND, old.length - last.fromEnd);
  let lines = "";
  let place = from;
  for (const change of changes) {
    lines += signed(" ", old.slice(place, change.from));
    lines += signed("-", old.slice(change.from, change.fromEnd));
    lines += signed("+", now.slice(change.to, change.toEnd));
    place = change.fromEnd;
  }
  lines += signed(" ", old.slice(place, last.fromEnd + after));
  const [spanOld, spanNow] = [span(from, last.fromEnd + after), span(to, last.toEnd + after)];
  return `@@ -${spanOld} +${spanNow} @@\n${lines}`;
}

const signed = (sign: string, lines: string[]): string =>
  lines.map((line) => (line.endsWith("\n") ? sign + line : `${sign}${line}\n${NO_END}\n`)).join("");

/** Counts from 1; for no lines gives the line before, and for one line leaves out the count. */
function span(start: number, end: number): string {
  const count = end - start;
  if (count === 1) return String(start + 1);
  return `${count === 0 ? start : start + 1},${count}`;
}
