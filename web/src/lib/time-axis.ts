/** Where times lie on the waterfall. Long stretches in which nothing is busy are folded, so that bursts between them can be seen. */

/** ms since 1970. */
export type Span = { from: number; to: number };
/** `at` and `width` are shares of the axis, from 0 to 1. */
export type Fold = Span & { at: number; width: number };

export type TimeAxis = {
  /** From 0 to 1. */
  place(time: number): number;
  folds: readonly Fold[];
  /** Round times to write above it, in ms from its beginning; none within a fold. */
  ticks: readonly Tick[];
};
export type Tick = { at: number; ms: number };

/** A stretch is folded from this share of the busy time on, and from this long. */
const FOLD_SHARE = 0.5;
const FOLD_FROM_MS = 2_000;
const FOLD_WIDTH = 0.06;
/** Together folds take at most this. */
const FOLDS_WIDTH = 0.4;

/** `busy`: when something was being done, in any order. Outside of `whole` they count as far as they are in it. */
export function timeAxis(whole: Span, busy: readonly Span[]): TimeAxis {
  const gaps = gapsIn(whole, busy);
  const gapTime = sum(gaps);
  const busyTime = Math.max(1, whole.to - whole.from - gapTime);
  const folded = gaps.filter((gap) => lengthOf(gap) >= Math.max(FOLD_FROM_MS, busyTime * FOLD_SHARE));
  const rest = Math.max(1, whole.to - whole.from - sum(folded));
  const width = Math.min(FOLD_WIDTH, FOLDS_WIDTH / Math.max(1, folded.length));
  const share = 1 - width * folded.length;

  const folds: Fold[] = [];
  for (const [index, gap] of folded.entries()) {
    const before = gap.from - whole.from - sum(folds);
    folds.push({ ...gap, at: (before / rest) * share + index * width, width });
  }
  const place = (time: number): number => {
    const at = Math.min(Math.max(time, whole.from), whole.to);
    const last = folds.findLast(({ from }) => from <= at);
    if (!last) return ((at - whole.from) / rest) * share;
    if (at <= last.to) return last.at + ((at - last.from) / lengthOf(last)) * last.width;
    return last.at + last.width + ((at - last.to) / rest) * share;
  };
  return { place, folds, ticks: ticksOn(whole, rest, { place, folds }) };
}

const ROUND = [1, 2, 5];
const TICKS = 5;
/** The share of the axis that a label takes. */
const TICK_ROOM = 0.08;
/** Between more of them there is no room. */
const MAX_FOLDS_WITH_TICKS = 10;

/** `rest`: ms without what is folded. */
function ticksOn(whole: Span, rest: number, { place, folds }: Omit<TimeAxis, "ticks">): Tick[] {
  const every = roundFrom(rest / TICKS);
  const ticks: Tick[] = [];
  const isFree = (at: number): boolean =>
    at <= 1 - TICK_ROOM / 2 &&
    (ticks.length === 0 || at - ticks.at(-1)!.at >= TICK_ROOM) &&
    folds.every((fold) => at < fold.at - TICK_ROOM / 2 || at > fold.at + fold.width + TICK_ROOM / 2);
  const stretches = [whole.from, ...(folds.length > MAX_FOLDS_WITH_TICKS ? [] : folds.map(({ to }) => to))];
  for (const from of stretches) {
    const first = Math.ceil((from - whole.from) / every);
    for (let index = first; index <= first + 2 * TICKS; index++) {
      const time = whole.from + index * every;
      if (time <= whole.to && isFree(place(time))) ticks.push({ at: place(time), ms: index * every });
    }
  }
  return ticks;
}

/** The next of 1, 2, 5, 10, 20, 50, … seconds; of minutes and hours, whole ones. */
function roundFrom(ms: number): number {
  if (ms > 60_000) return ms > 3_600_000 ? 3_600_000 * roundFrom(ms / 3_600_000) : 60_000 * roundFrom(ms / 60_000);
  const power = 10 ** Math.floor(Math.log10(Math.max(1, ms)));
  return power * (ROUND.find((round) => round * power >= ms) ?? 10);
}

/** How long something was being done within `whole`, ms: what is done at the same time counts once. */
export const busyLength = (whole: Span, busy: readonly Span[]): number => lengthOf(whole) - sum(gapsIn(whole, busy));

const lengthOf = ({ from, to }: Span): number => to - from;
const sum = (spans: readonly Span[]): number => spans.reduce((total, span) => total + lengthOf(span), 0);

function gapsIn(whole: Span, busy: readonly Span[]): Span[] {
  const gaps: Span[] = [];
  let reached = whole.from;
  for (const { from, to } of busy.toSorted((a, b) => a.from - b.from)) {
    if (from > reached) gaps.push({ from: reached, to: Math.min(from, whole.to) });
    reached = Math.max(reached, to);
  }
  if (reached < whole.to) gaps.push({ from: reached, to: whole.to });
  return gaps.filter((gap) => gap.to > gap.from);
}
