class Wait implements Disposable {
  readonly #ends: Set<() => void>;
  readonly #end: () => void;

  constructor(ends: Set<() => void>, end: () => void) {
    this.#ends = ends;
    this.#end = end;
  }

  [Symbol.dispose](): void {
    this.#ends.delete(this.#end);
  }
}

/** The waits of this process. When it stops advancing runs, each ends with its run as it then is. */
export class Waits {
  readonly #ends = new Set<() => void>();
  #isOver = false;

  add(end: () => void): Disposable {
    if (this.#isOver) end();
    else this.#ends.add(end);
    return new Wait(this.#ends, end);
  }

  end(): void {
    this.#isOver = true;
    for (const end of this.#ends) end();
  }
}
