import { LastActs } from "../../lib/last-acts.ts";

/**
 * Things that a command must not leave behind (a PostgreSQL, its own server) when it ends early: by a signal, or because nobody
 * reads its output any longer. Without this the process would be gone before any `await using` ran.
 */
export type Ending = {
  /** To be waited for and disposed before an early end; disposed by its owner in the usual way otherwise. */
  hold<Held extends AsyncDisposable>(opening: Promise<Held>): Promise<Held>;
  /** Disposes what is held, then leaves. Only the first call does. */
  end(leave: () => void): void;
  /** For an end that does not wait for that: a second signal, or an unhandled error. */
  readonly lastActs: LastActs;
  /** If true, the command's errors result from being told to end. */
  readonly isEnding: boolean;
};

/** `exit`: ends the process. */
export function createEnding(exit: (code: number) => void = () => {}): Ending {
  const held = new Set<Promise<AsyncDisposable>>();
  let isEnding = false;
  return {
    lastActs: new LastActs(exit),
    async hold(opening) {
      held.add(opening);
      try {
        const open = await opening;
        const dispose = open[Symbol.asyncDispose].bind(open);
        let disposed: Promise<void> | undefined;
        open[Symbol.asyncDispose] = () =>
          (disposed ??= Promise.resolve(dispose()).finally(() => void held.delete(opening)));
        return open;
      } catch (error) {
        held.delete(opening);
        throw error;
      }
    },
    get isEnding() {
      return isEnding;
    },
    end(leave) {
      if (isEnding) return;
      isEnding = true;
      const closed = Array.from(held, async (opening) => (await opening)[Symbol.asyncDispose]());
      void Promise.allSettled(closed).then(leave);
    },
  };
}
