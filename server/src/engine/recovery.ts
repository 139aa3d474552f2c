/**
 * After an election: takes up the runs that other processes held when they ended. After an unclean stop it does so a few at a
 * time, so that a run that ends the process is found (docs/decisions/0008-a-run-is-blamed-when-it-was-alone.md).
 */
import type { Clock } from "../lib/clock.ts";
import type { InstanceId, RunId } from "../lib/ids.ts";
import type { Log } from "../lib/log/log.ts";
import { Loop, type Round } from "../lib/loops/loop.ts";
import type { Database } from "../storage/database.ts";
import type { Drives } from "./drives.ts";
import { dueFromRow, type Due } from "./due-runs.ts";
import type { Predecessor } from "./election.ts";

type RecoveryOptions = {
  database: Database;
  clock: Clock;
  log: Log;
  instanceId: InstanceId;
  drives: Pick<Drives<unknown>, "ids" | "size" | "ended">;
  /** Takes up one run. */
  begin(run: Due): void;
  /** The run that is advanced alone from now on and blamed if the process ends. */
  suspect(runId: RunId | undefined): Promise<void>;
  /** All are taken up. */
  ended(): void;
  /** The process has outlived the cautious time after an unclean stop. */
  survived(): Promise<void>;
};

/** How many runs are taken up at once after a clean stop: all that the last process had places for. */
const MAX_HELD = 10_000;
/** After an unclean stop runs are taken up a few at a time: four at first, and each pause doubles them. */
const FIRST_RUNS = 4;
const FIRST_PAUSE_MS = 100;
/** A process that lives this long after taking them all up breaks the row of unclean stops. */
const CAREFUL_TIME_MS = 60_000;
const RETRY_MS = 1_000;

/** While this process executes. */
type Term = {
  predecessor: Predecessor;
  pauseMs: number;
  /** How many are taken up next, and how many were. */
  most: number;
  begun: number;
  /** Taken up last. */
  group: Due[];
  isOver: boolean;
  /** After an unclean stop, once all are taken up. */
  survivesAt: number | undefined;
};

export class Recovery implements AsyncDisposable {
  readonly loop: Loop;
  readonly #options: RecoveryOptions;
  #term: Term | undefined;

  constructor(options: RecoveryOptions) {
    this.#options = options;
    this.loop = new Loop({
      ...options,
      name: "recovery",
      everyMs: CAREFUL_TIME_MS,
      retryMs: RETRY_MS,
      look: (round) => this.#look(round),
      failed: "taking up the open runs failed; trying again",
    }).start(Infinity);
  }

  /** The last executor's runs are taken up. */
  get isOver(): boolean {
    return this.#term?.isOver ?? false;
  }

  /** The process ended twice in a short time: takes up the suspects, the first one alone, and begins nothing else. */
  get isCareful(): boolean {
    return this.#term !== undefined && !this.#term.isOver && this.#term.predecessor.uncleanStops > 1;
  }

  begin(predecessor: Predecessor): void {
    const { uncleanStops } = predecessor;
    this.#term = {
      predecessor,
      pauseMs: Math.min(CAREFUL_TIME_MS, FIRST_PAUSE_MS * 2 ** Math.max(0, uncleanStops - 1)),
      most: uncleanStops === 0 ? MAX_HELD : uncleanStops === 1 ? FIRST_RUNS : 1,
      begun: 0,
      group: [],
      isOver: false,
      survivesAt: undefined,
    };
    this.loop.wake();
  }

  /** Another process executes. */
  end(): void {
    this.#term = undefined;
  }

  async #look(round: Round): Promise<number> {
    const term = this.#term;
    if (!term) return Infinity;
    return term.isOver ? this.#survive(term) : this.#takeUpSome(round, term);
  }

  async #survive(term: Term): Promise<number> {
    const { clock, survived } = this.#options;
    if (term.survivesAt !== undefined && clock.now() >= term.survivesAt) {
      await survived();
      term.survivesAt = undefined;
    }
    return term.survivesAt ?? Infinity;
  }

  /** Goes on when none of them is advanced any longer, or after the pause. */
  async #takeUpSome(round: Round, term: Term): Promise<number> {
    const { clock, begin } = this.#options;
    const goesOn = (): boolean => round.goesOn() && this.#term === term;
    const group = await this.#heldByOthers(Math.min(term.most, MAX_HELD), term.predecessor);
    if (!goesOn()) return Infinity;
    if (this.isCareful) await this.#suspect(group);
    if (!goesOn()) return Infinity;
    if (group.length === 0) return this.#end(term);
    for (const run of group) begin(run);
    term.group = group;
    term.begun += group.length;
    term.most = Math.max(term.most, term.begun);
    void this.#wakeAtEndOf(group);
    return clock.now() + term.pauseMs;
  }

  async #wakeAtEndOf(group: Due[]): Promise<void> {
    await Promise.all(group.map(({ id }) => this.#options.drives.ended(id)));
    if (this.#term?.group === group) this.loop.wake();
  }

  #end(term: Term): number {
    const { clock, ended } = this.#options;
    term.isOver = true;
    if (term.predecessor.uncleanStops > 0) term.survivesAt = clock.now() + CAREFUL_TIME_MS;
    ended();
    return term.survivesAt ?? Infinity;
  }

  /**
   * The prime suspects first: runs blamed before, then those that the last executor held. The culprit was among those
   * that it took up last, the later half. In the opposite order this process reaches it within the first half, so each
   * unclean stop halves the suspects until one is left.
   */
  async #heldByOthers(most: number, { instanceId, uncleanStops }: Predecessor): Promise<Due[]> {
    const rows = await this.#options.database.query(
      `select id, organization_id from runs
        where owner is not null and owner <> $1 and not (id = any ($2::uuid[]))
        order by blamed desc, owner = $3 desc, owner desc, id ${uncleanStops % 2 === 0 ? "desc" : "asc"} limit ${most}`,
      [this.#options.instanceId, this.#options.drives.ids, instanceId],
    );
    return rows.map(dueFromRow);
  }

  /** Only a run that is advanced alone can be blamed. */
  #suspect(group: Due[]): Promise<void> {
    const { drives, suspect } = this.#options;
    return suspect(group.length === 1 && drives.size === 0 ? group[0]!.id : undefined);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.loop[Symbol.asyncDispose]();
  }
}
