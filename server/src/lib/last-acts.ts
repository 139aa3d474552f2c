/**
 * What must not stay behind this process, a PostgreSQL above all, when it ends in another way than by closing everything in turn: by a
 * second signal, a stop that hangs, or an error that nobody handled.
 */
import { setTimeout as sleep } from "node:timers/promises";

/** `isUrgent`: as fast as possible; what was committed is there all the same. */
export type LastAct = (isUrgent: boolean) => Promise<void>;

/** Then the process ends without them. */
const MOST_MS = 8_000;
/** EX_SOFTWARE of sysexits.h; a supervisor starts the server again (docs/operations.md). */
const ERROR_CODE = 70;

export class LastActs {
  readonly #exit: (code: number) => void;
  readonly #acts = new Set<LastAct>();
  #isEnding = false;

  /** `exit`: ends the process, which only its entry may. */
  constructor(exit: (code: number) => void) {
    this.#exit = exit;
  }

  /** Until it is disposed of, when there is nothing left to do. */
  add(act: LastAct): Disposable {
    this.#acts.add(act);
    return { [Symbol.dispose]: () => void this.#acts.delete(act) };
  }

  /** Ends the process after them, with the code of the first call. */
  end(code: number, isUrgent: boolean): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    process.exitCode = code;
    const done = Promise.allSettled(Array.from(this.#acts, async (act) => act(isUrgent)));
    void Promise.race([done, sleep(MOST_MS)]).then(() => this.#exit(code));
  }

  /** From now on such an error ends the process with exit code 70; `say` tells of the first one. */
  endOnUnhandled(say: (error: unknown) => void): void {
    process.on("uncaughtException", (error) => {
      if (!this.#isEnding) say(error);
      this.end(ERROR_CODE, false);
    });
  }
}
