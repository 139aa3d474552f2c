/**
 * Stops what must not outlive this process, above all PostgreSQL, when the process does not end by closing everything in order: at a
 * second signal, when a stop hangs, or after an unhandled error.
 */
import { setTimeout as sleep } from "node:timers/promises";

/** `isUrgent`: as fast as possible; committed data stays in any case. */
export type LastAct = (isUrgent: boolean) => Promise<void>;

/** After this time the process ends without them. */
const MAX_MS = 8_000;
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

  /** Registers an act, until it is disposed of because there is nothing left to stop. */
  add(act: LastAct): Disposable {
    this.#acts.add(act);
    return { [Symbol.dispose]: () => void this.#acts.delete(act) };
  }

  /** Runs all acts, then ends the process with the code of the first call. */
  end(code: number, isUrgent: boolean): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    process.exitCode = code;
    const done = Promise.allSettled(Array.from(this.#acts, async (act) => act(isUrgent)));
    void Promise.race([done, sleep(MAX_MS)]).then(() => this.#exit(code));
  }

  /** From now on an unhandled error ends the process with exit code 70; `say` reports the first one. */
  endOnUnhandled(say: (error: unknown) => void): void {
    process.on("uncaughtException", (error) => {
      if (!this.#isEnding) say(error);
      this.end(ERROR_CODE, false);
    });
  }
}
