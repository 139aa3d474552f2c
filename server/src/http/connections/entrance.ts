/**
 * When what is asked begins, over HTTP and over WebSockets. It begins at once while there is time in this round of the event loop; else
 * it waits in the line of its organization or, of strangers, of its address. Organizations and all strangers together take turns
 * (fairness/rounds.ts), and addresses take turns among strangers. A request is refused when its own line has many and is too slow for too
 * long (overload.ts). So the heaviest sender is refused first, and one that sends little never is: it waits for others' turns, not for
 * their lines.
 */
import { FairQueue } from "../../fairness/fair-queue.ts";
import { LIMITS } from "../../lib/limits.ts";
import { Rounds } from "../../fairness/rounds.ts";
import { TickCount } from "../../fairness/tick-count.ts";
import { Overload } from "./overload.ts";

/** The work that an organization's requests would wait for once they have begun. */
export type Backlog = {
  /** Whether anybody has to wait. */
  isContended(): boolean;
  /** How many of an organization do, and for about how long the next one would. */
  of(organizationId: string): { waiting: number; ms: number };
};

/** The line of a request: an organization's, or a stranger's address's. */
export type Whose = { line: string; isStranger: boolean };

/** Something that is asked. */
export type Asked = {
  /** Called when it has to wait. */
  whose(): Whose;
  /** Whether it might be urgent. Called once its bytes are there, when it would be refused. */
  mayBeUrgent(): boolean;
  /** It may begin; or, when its line has too much, only if it is urgent. */
  go(tooMuchOf: Whose | undefined): void;
};

type EntranceOptions = {
  /** ms, from any beginning. */
  now: () => number;
  backlog: Backlog;
};

/** `ahead`: how many of its line it waits for. */
type Waiting = { whose: Whose; cameAt: number; ahead: number; asked: Asked };

const STRANGERS = "strangers";
/** A turn begins one request. Before it, so many at most are refused: they must not use up the turns of those who can be answered. */
const REFUSED_IN_A_TURN = 16;
/**
 * How many are refused as they come in one turn of the event loop, about 10 ms: libuv reads on within a turn, up to 48 times 1,024
 * connections, as long as clients that were answered there ask again.
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
  /** By line, while others wait in it: how long the last one that left waited for each that was ahead of it. */
  readonly #eachMs = new Map<string, number>();

  constructor({ now, backlog }: EntranceOptions) {
    this.#now = now;
    this.#backlog = backlog;
    this.#rounds = new Rounds(now);
  }

  /** How long the event loop took for its last round in which anything began, ms. */
  get roundMs(): number {
    return this.#rounds.lastMs;
  }

  /** Calls `go` when it may begin: at once, or in a later turn of the event loop. Or with a refusal. */
  enter(asked: Asked): void {
    // Asked first: it begins the round that those who wait are served in.
    if (this.#rounds.isOpen() && !this.#backlog.isContended()) {
      this.begun++;
      return asked.go(undefined);
    }
    const whose = asked.whose();
    if (!this.#wouldBeRefused(whose) || this.#refusedAtOnce.add() > REFUSED_AT_ONCE) return this.#wait(whose, asked);
    // A request that is refused now leaves nothing behind; one that waits outlives two collections of garbage. The rest of its bytes are
    // read in this turn.
    process.nextTick(() => {
      if (asked.mayBeUrgent()) return this.#wait(whose, asked);
      this.refused++;
      asked.go(whose);
    });
  }

  #queueOf({ isStranger }: Whose): FairQueue<string, Waiting> {
    return isStranger ? this.#strangers : this.#organizations;
  }

  /** Whether it would be refused when its turn comes, as far as the line can tell. */
  #wouldBeRefused(whose: Whose): boolean {
    const { line } = whose;
    const size = this.#queueOf(whose).sizeOf(line);
    return size > 0 && this.#isTooMuch(line, size * (this.#eachMs.get(line) ?? 0), size, this.#now());
  }

  #wait(whose: Whose, asked: Asked): void {
    const { line, isStranger } = whose;
    const queue = this.#queueOf(whose);
    queue.add(line, { whose, cameAt: this.#now(), ahead: queue.sizeOf(line), asked });
    this.waiting++;
    if (isStranger) this.#rounds.wait(STRANGERS, this.#serveStranger);
    else this.#rounds.wait(line, () => this.#serve(this.#organizations, this.#organizations.takeOf(line)));
  }

  readonly #serveStranger = (): void => this.#serve(this.#strangers, this.#strangers.take());

  /** One turn of a line. There may be nothing left of it: others of its turns refused what had waited too long. */
  #serve(queue: FairQueue<string, Waiting>, first: Waiting | undefined): void {
    let next = first;
    for (let refused = 0; next; refused++) {
      if (this.#begin(queue, next) || refused === REFUSED_IN_A_TURN) return;
      next = queue.takeOf(next.whose.line);
    }
  }

  /** Lets it begin, or refuses it. Returns whether it began. */
  #begin(queue: FairQueue<string, Waiting>, { whose, cameAt, ahead, asked }: Waiting): boolean {
    const { line } = whose;
    const left = queue.sizeOf(line);
    const now = this.#now();
    this.waiting--;
    if (left === 0) this.#eachMs.delete(line);
    else if (ahead > 0) this.#eachMs.set(line, (now - cameAt) / ahead);
    this.#overload.note(line, now - cameAt + this.#backlog.of(line).ms, now);
    const isRefused = this.#isTooMuch(line, now - cameAt, left, now);
    if (isRefused) this.refused++;
    else this.begun++;
    asked.go(isRefused ? whose : undefined);
    return !isRefused;
  }

  #isTooMuch(line: string, waitMs: number, left: number, now: number): boolean {
    if (!this.#overload.isOver(line, now)) return false;
    const backlog = this.#backlog.of(line);
    // A few are slow on a slow machine, and that is all: refusing them would help nobody.
    return waitMs + backlog.ms > LIMITS.waitToBeginMs && left + backlog.waiting >= LIMITS.requestsWaiting;
  }
}
