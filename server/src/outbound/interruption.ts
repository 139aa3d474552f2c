/** Ends a call before its answer: the caller's signal, or its time limit. One per call, for all its redirects. */
import type { Clock } from "../lib/clock.ts";

export class Interruption implements Disposable {
  /** Ends the current operation, which sets it. */
  stop: ((reason: unknown) => void) | undefined;
  /** The error when the time is over; it says what was waited for. */
  timedOut: () => Error;
  readonly #signal: AbortSignal;
  readonly #timer: Disposable;
  readonly #abort = (): void => this.#end(this.#signal.reason);
  #reason: { value: unknown } | undefined;

  constructor(signal: AbortSignal, clock: Clock, timeoutMs: number, timedOut: () => Error) {
    signal.throwIfAborted();
    this.#signal = signal;
    this.timedOut = timedOut;
    signal.addEventListener("abort", this.#abort, { once: true });
    this.#timer = clock.at(clock.now() + timeoutMs, () => this.#end(this.timedOut()));
  }

  /** Between two exchanges nothing listens. */
  throwIfEnded(): void {
    if (this.#reason) throw this.#reason.value;
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
    this.#signal.removeEventListener("abort", this.#abort);
    this.stop = undefined;
  }

  #end(value: unknown): void {
    this.#reason ??= { value };
    this.stop?.(value);
  }
}
