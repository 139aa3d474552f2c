/** Async iterables for subscriptions that end when their reader leaves, however long they are waiting. */

/**
 * Makes an iterable from a generator that gets a signal, which aborts when the reader leaves or `outer` aborts. Then, and
 * when the generator ends, `source` is disposed: a reader that never asks for a first value leaves nothing behind.
 */
export function stream<Value>(
  outer: AbortSignal,
  source: Disposable,
  generate: (signal: AbortSignal) => AsyncGenerator<Value, void, undefined>,
): AsyncIterableIterator<Value> {
  const controller = new AbortController();
  const leave = (): void => controller.abort();
  const { signal } = controller;
  signal.addEventListener("abort", () => {
    outer.removeEventListener("abort", leave);
    source[Symbol.dispose]();
  });
  if (outer.aborted) leave();
  else outer.addEventListener("abort", leave);
  const generator = generate(signal);
  return {
    // No generator around the other one: that takes 3 µs a value.
    async next() {
      try {
        const item = await generator.next();
        if (item.done) leave();
        return item;
      } catch (error) {
        leave();
        throw error;
      }
    },
    async return() {
      leave();
      await generator.return();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** Wakes one loop: any number of calls of `notify` end one `wait`, the present or the next. */
export class Wakeup {
  #isNotified = false;
  #waiting: (() => void) | undefined;
  /** Its end ends the present wait. */
  #signal: AbortSignal | undefined;

  notify(): void {
    this.#isNotified = true;
    this.#waiting?.();
  }

  /** Resolves at a notice since the last wait; false when `signal` aborts first. */
  async wait(signal: AbortSignal): Promise<boolean> {
    if (!this.#isNotified && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting = resolve;
      // Once, and not for each wait: that would cost as much as the wait.
      if (this.#signal !== signal) signal.addEventListener("abort", () => this.#waiting?.());
      this.#signal = signal;
      await promise;
      this.#waiting = undefined;
    }
    this.#isNotified = false;
    return !signal.aborted;
  }
}
