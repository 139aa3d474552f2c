/**
 * That nobody waits for an answer any more. What an AbortController says, for a tenth of its cost: every request has one,
 * and few are ended (with its listeners 1.2 kB of each).
 */
export class Ending {
  /** When it ends by itself, and where it stands among those that do. */
  endsAt = 0;
  place = -1;
  #reason: Error | undefined;
  #listeners: ((reason: Error) => void)[] | undefined;
  #controller: AbortController | undefined;

  get isOver(): boolean {
    return this.#reason !== undefined;
  }

  /** For what takes one; made when it is asked for. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** The first reason stays. */
  end(reason: Error = new DOMException("This operation was aborted", "AbortError")): void {
    if (this.#reason) return;
    this.#reason = reason;
    for (const listener of this.#listeners ?? []) listener(reason);
    this.#listeners = undefined;
    this.#controller?.abort(reason);
  }

  /** At once when it is over already. */
  onEnd(listener: (reason: Error) => void): void {
    if (this.#reason) listener(this.#reason);
    else if (this.#listeners) this.#listeners.push(listener);
    else this.#listeners = [listener];
  }

  throwIfOver(): void {
    if (this.#reason) throw this.#reason;
  }
}
