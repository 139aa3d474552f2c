/**
 * Sees that each loop of the service comes round. It has no timer of its own that could stop: it looks with each beat of the
 * watchdog, whose thread ends a process without beats, and whenever somebody asks it (`/readyz`, `/metrics`).
 */
import type { Clock } from "../clock.ts";
import { LIMITS } from "../limits.ts";
import type { Log } from "../log/log.ts";
import type { Loop, LoopName } from "./loop.ts";

/** `againMs`: how late it must be to be started over once more. */
type Watched = { timesRound: number; lateMs: number; againMs: number };

const LATE_MS = LIMITS.loopLateSeconds * 1_000;
/** Counted at most between two looks: after a standstill, or when the clock was set forward, the loops get a chance to run first. */
const LONGEST_MS = LATE_MS / 3;
const NOT_LATE = { lateMs: 0, againMs: LATE_MS };

export class LoopWatch {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #watched = new Map<Loop, Watched>();
  #lookedAt: number;

  constructor({ clock, log }: { clock: Clock; log: Log }) {
    this.#clock = clock;
    this.#log = log;
    this.#lookedAt = clock.now();
  }

  add(...loops: Loop[]): void {
    for (const loop of loops) this.#watched.set(loop, { timesRound: loop.timesRound, ...NOT_LATE });
  }

  /** Logs and starts over each loop that has just become late, and again when it is twice as late. */
  look(): void {
    const now = this.#clock.now();
    const passedMs = Math.min(Math.max(0, now - this.#lookedAt), LONGEST_MS);
    this.#lookedAt = now;
    for (const [loop, watched] of this.#watched) {
      if (loop.timesRound !== watched.timesRound || !isDue(loop, now)) this.#isInTime(loop, watched);
      else if ((watched.lateMs += passedMs) >= watched.againMs) this.#startOver(loop, watched);
    }
  }

  /** How late each is, in seconds. */
  lateSeconds(): Partial<Record<LoopName, number>> {
    this.look();
    return Object.fromEntries(Array.from(this.#watched, ([{ name }, { lateMs }]) => [name, lateMs / 1_000]));
  }

  /** The loops that are too late. */
  late(): LoopName[] {
    this.look();
    return [...this.#watched].filter(([, { lateMs }]) => lateMs >= LATE_MS).map(([{ name }]) => name);
  }

  #isInTime(loop: Loop, watched: Watched): void {
    const { lateMs } = watched;
    Object.assign(watched, NOT_LATE, { timesRound: loop.timesRound });
    if (lateMs >= LATE_MS) this.#log.info({ loop: loop.name }, `the loop ${loop.name} goes on again`);
  }

  #startOver(loop: Loop, watched: Watched): void {
    const { name, isLooking, cameRoundAt, mustComeBy } = loop;
    const times = { cameRoundAt: new Date(cameRoundAt), mustComeBy: new Date(mustComeBy) };
    // The name is in the text, because only ten lines with the same text are written.
    this.#log.error(
      { loop: name, lateSeconds: watched.lateMs / 1_000, isLooking, ...times },
      `the loop ${name} is late: it is started over`,
    );
    watched.againMs = 2 * watched.lateMs;
    loop.restart();
  }
}

/** Always while it looks: the clock may have been set back since. */
const isDue = (loop: Loop, now: number): boolean => loop.isLooking || now > loop.mustComeBy;
