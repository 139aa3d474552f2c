/** The waits of this process. They end when it advances no run any more, each with its run as it is then. */
export class Waits {
  readonly #ends = new Set<() => void>();
  #isOver = false;

  add(end: () => void): Disposable {
    if (this.#isOver) end();
    else this.#ends.add(end);
    return { [Symbol.dispose]: () => void this.#ends.delete(end) };
  }

  end(): void {
    this.#isOver = true;
    for (const end of this.#ends) end();
  }
}
