/**
 * Decides when a request or a WebSocket's operation begins. It begins at once while there is time in this round of the event loop.
 * Otherwise it waits in a line: its organization's, or a stranger's by address. Organizations take turns, with all strangers as one of
 * them (fairness/rounds.ts); addresses take turns among strangers. A request is refused when its own line is long and has been too
 * slow for too long (overload.ts). So the heaviest sender is refused first, and one that sends little never is: it waits for others'
 * turns, not for their lines.
 */
import type { Backlog } from "../../fairness/backlog.ts";
import { FairQueue } from "../../fairness/fair-queue.ts";
import { LIMITS } from "../../lib/limits.ts";
import { Rounds } from "../../fairness/rounds.ts";
import { TickCount } from "../../fairness/tick-count.ts";
import { Overload } from "./overload.ts";

/** The line in which a request waits. `name`: its organization's id, or a stranger's address. */
export type Line = { name: string; isStranger: boolean };

/** A request, or an operation over a WebSocket. */
export type Entrant = {
  /** Called if it has to wait. */
  line(): Line;
  /** Whether it might be urgent. Called once its bytes are there, when it would be refused. */
  mayBeUrgent(): boolean;
  /** Called once, when it may begin. `tooMuchOf`: its line has too much, so it may begin only if it is urgent. */
  go(tooMuchOf: Line | undefined): void;
};

type EntranceOptions = {
  /** ms, from any beginning. */
  now: () => number;
  backlog: Backlog;
};

/** `ahead`: how many of its line were there before it. */
type Waiting = { line: Line; cameAt: number; ahead: number; entrant: Entrant };

const STRANGERS = "strangers";
/** A turn begins one request. It refuses at most this many before that one: a refusal must not use up a turn. */
const REFUSED_IN_A_TURN = 16;
/**
 * At most this many are refused on arrival in one tick of the event loop, about 10 ms: clients that were refused ask again at once, and
 * libuv reads from up to 48 times 1,024 connections within a tick.
 */
const REFUSED_AT_ONCE = 200;

export class Entrance {
  /** For metrics: since the start. */
  begun = 0;
  refused = 0;
  /** How many wait to begin. */
  waiting = 0;
  readonly #now: () => number;
  readonly #backlog: Backlog;
  readonly #rounds: Rounds<string>;
  readonly #overload = new Overload();
  readonly #refusedAtOnce = new TickCount();
  readonly #organizations = new FairQueue<string, Waiting>();
  readonly #strangers = new FairQueue<string, Waiting>();
  /** By line that is not empty: how long the last one that left had waited, for each that was ahead of it. */
  readonly #eachMs = new Map<string, number>();

  constructor({ now, backlog }: EntranceOptions) {
    this.#now = now;
    this.#backlog = backlog;
    this.#rounds = new Rounds(now);
  }

  /** ms that the event loop took for its last round in which anything began. */
  get roundMs(): number {
    return this.#rounds.lastMs;
  }

  /** Calls `go`: at once, or in a later tick of the event loop. */
  enter(entrant: Entrant): void {
    // Asked first: it begins the round that those who wait are served in.
    if (this.#rounds.isOpen() && !this.#backlog.isContended()) {
      this.begun++;
      return entrant.go(undefined);
    }
    const line = entrant.line();
    if (!this.#wouldBeRefused(line) || this.#refusedAtOnce.add() > REFUSED_AT_ONCE) return this.#wait(line, entrant);
    // A request that is refused now leaves nothing behind; one that waits outlives two garbage collections. The rest of its bytes are
    // read in this tick.
    process.nextTick(() => {
      if (entrant.mayBeUrgent()) return this.#wait(line, entrant);
      this.refused++;
      entrant.go(line);
    });
  }

  #queueOf({ isStranger }: Line): FairQueue<string, Waiting> {
    return isStranger ? this.#strangers : this.#organizations;
  }

  /** Whether it would be refused when its turn comes, as far as the line can tell. */
  #wouldBeRefused(line: Line): boolean {
    const { name } = line;
    const size = this.#queueOf(line).sizeOf(name);
    return size > 0 && this.#isTooMuch(name, size * (this.#eachMs.get(name) ?? 0), size, this.#now());
  }

  #wait(line: Line, entrant: Entrant): void {
    const { name, isStranger } = line;
    const queue = this.#queueOf(line);
    queue.add(name, { line, cameAt: this.#now(), ahead: queue.sizeOf(name), entrant });
    this.waiting++;
    if (isStranger) this.#rounds.wait(STRANGERS, this.#serveStranger);
    else this.#rounds.wait(name, () => this.#serve(this.#organizations, this.#organizations.takeOf(name)));
  }

  readonly #serveStranger = (): void => this.#serve(this.#strangers, this.#strangers.take());

  /** One turn of a line. There may be nothing left of it: others of its turns refused what had waited too long. */
  #serve(queue: FairQueue<string, Waiting>, first: Waiting | undefined): void {
    let next = first;
    for (let refused = 0; next; refused++) {
      if (this.#begin(queue, next) || refused === REFUSED_IN_A_TURN) return;
      next = queue.takeOf(next.line.name);
    }
  }

  /** Lets it begin, or refuses it. Returns whether it began. */
  #begin(queue: FairQueue<string, Waiting>, { line, cameAt, ahead, entrant }: Waiting): boolean {
    const { name } = line;
    const left = queue.sizeOf(name);
    const now = this.#now();
    this.waiting--;
    if (left === 0) this.#eachMs.delete(name);
    else if (ahead > 0) this.#eachMs.set(name, (now - cameAt) / ahead);
    this.#overload.note(name, now - cameAt + this.#backlog.of(name).ms, now);
    const isRefused = this.#isTooMuch(name, now - cameAt, left, now);
    if (isRefused) this.refused++;
    else this.begun++;
    entrant.go(isRefused ? line : undefined);
    return !isRefused;
  }

  #isTooMuch(line: string, waitMs: number, left: number, now: number): boolean {
    if (!this.#overload.isOver(line, now)) return false;
    const backlog = this.#backlog.of(line);
    // A few are slow on a slow machine, and that is all: refusing them would help nobody.
    return waitMs + backlog.ms > LIMITS.waitToBeginMs && left + backlog.waiting >= LIMITS.requestsWaiting;
  }
}
