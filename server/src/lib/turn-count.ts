/** Counts what is done in one turn of the event loop, for bounds that all who ask share. */
export class TurnCount {
  #count = 0;
  /** Names the turn: a number of its own for each in which something was counted. */
  turn = 0;

  /** One more; how many they are now. */
  add(): number {
    if (this.#count === 0) setImmediate(this.#next);
    return ++this.#count;
  }

  readonly #next = (): void => {
    this.#count = 0;
    this.turn++;
  };
}
