/** Ends a call before its answer: the caller's signal, or its time limit. One per call, for all its redirects. */

/** setTimeout fires at once beyond 2^31 - 1 ms (24.8 days). */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class Interruption implements Disposable {
  /** Ends the current operation, which sets it. */
  stop: ((reason: unknown) => void) | undefined;
  readonly #signal: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #abort = (): void => this.#end(this.#signal.reason);
  #reason: { value: unknown } | undefined;

  /** On the monotonic clock instead of `Clock`: setting the wall clock back must not lengthen a call. */
  constructor(signal: AbortSignal, timeoutMs: number, timedOut: () => Error) {
    signal.throwIfAborted();
    this.#signal = signal;
    signal.addEventListener("abort", this.#abort, { once: true });
    this.#timer = setTimeout(() => this.#end(timedOut()), Math.min(timeoutMs, LONGEST_TIMER_MS));
  }

  /** Between two exchanges nothing listens. */
  throwIfEnded(): void {
    if (this.#reason) throw this.#reason.value;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener("abort", this.#abort);
    this.stop = undefined;
  }

  #end(value: unknown): void {
    this.#reason ??= { value };
    this.stop?.(value);
  }
}
