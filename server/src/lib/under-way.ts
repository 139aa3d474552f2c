/** Counts work from its beginning to its end, so that what it uses is closed afterwards. */
export class UnderWay {
  #count = 0;
  #empty: PromiseWithResolvers<void> | undefined;

  get count(): number {
    return this.#count;
  }

  begin(): void {
    this.#count++;
  }

  /** Call it once for each `begin`. */
  end(): void {
    if (--this.#count > 0) return;
    this.#empty?.resolve();
    this.#empty = undefined;
  }

  /** Resolves when none is under way. */
  async ended(): Promise<void> {
    while (this.#count > 0) await (this.#empty ??= Promise.withResolvers<void>()).promise;
  }
}
