/**
 * Signals that nobody waits for an answer any longer. Does what an AbortController does for a tenth of its cost: every
 * request has one and few are used (1.2 kB each with listeners).
 */
export class Ending {
  /** When it ends by itself, and its position among those that do. */
  endsAt = 0;
  place = -1;
  #reason: Error | undefined;
  #listeners: ((reason: Error) => void)[] | undefined;
  #controller: AbortController | undefined;

  get isOver(): boolean {
    return this.#reason !== undefined;
  }

  /** For code that takes a signal; made on demand. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** The first reason wins. */
  end(reason: Error = new DOMException("This operation was aborted", "AbortError")): void {
    if (this.#reason) return;
    this.#reason = reason;
    for (const listener of this.#listeners ?? []) listener(reason);
    this.#listeners = undefined;
    this.#controller?.abort(reason);
  }

  /** At once if it is already over. */
  onEnd(listener: (reason: Error) => void): void {
    if (this.#reason) listener(this.#reason);
    else if (this.#listeners) this.#listeners.push(listener);
    else this.#listeners = [listener];
  }

  throwIfOver(): void {
    if (this.#reason) throw this.#reason;
  }
}
