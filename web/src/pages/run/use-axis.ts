import { useState } from "react";
import type { RunHeadFragment, StepRowFragment } from "../../api/documents.ts";
import { busyLength, timeAxis, type Span, type TimeAxis } from "../../lib/time-axis.ts";
import { busyTimes } from "./spans.ts";

/** The end of an open run's axis moves on by this share, so that its bars do not all move with each tick. */
const GROWTH = 1.15;
const LEAST_MS = 1_000;

/** The same object as long as nothing on it moves. `now`: ms since 1970, for a run that is open. */
export function useAxis(head: RunHeadFragment, steps: readonly StepRowFragment[], now: number): TimeAxis {
  const from = Date.parse(head.startedAt ?? head.createdAt);
  const busy = busyTimes(steps, now);
  const isOpen = !head.finishedAt;
  // An open run always has something going on, such as the pause before another attempt.
  if (isOpen) busy.push({ from: busy.reduce((latest, { to: end }) => Math.max(latest, end), from), to: now });
  const to = isOpen ? openEnd({ from, to: now }, busy) : Date.parse(head.finishedAt!);
  // The time still to come is no gap.
  const axis = timeAxis({ from, to }, isOpen ? [...busy, { from: now, to }] : busy);
  const key = JSON.stringify([from, to, axis.folds]);
  const [kept, setKept] = useState({ key, axis });
  if (kept.key === key) return kept.axis;
  setKept({ key, axis });
  return axis;
}

/** Room for what is still to come goes by what was done: an hour of waiting is folded, and makes none. */
function openEnd(sofar: Span, busy: readonly Span[]): number {
  const length = Math.max(0, busyLength(sofar, busy));
  return sofar.to - length + roomFor(length);
}

const roomFor = (ms: number): number =>
  LEAST_MS * GROWTH ** Math.ceil(Math.log(Math.max(ms, LEAST_MS) / LEAST_MS) / Math.log(GROWTH));
