/** The pieces of an answer's body. A server may send it in chunks of one byte: 150 bytes and 2 µs each. */
import { TickCount } from "../fairness/tick-count.ts";

/** Smaller pieces are copied together: a piece is a view that keeps its whole read in memory. */
const SMALL_BYTES = 1_024;
const BLOCK_BYTES = 16 * 1_024;

export class Pieces {
  #chunks: Buffer[] = [];
  #bytes = 0;
  #block: Buffer | undefined;
  /** The part of the block that is copied but not yet among the chunks. */
  #from = 0;
  #to = 0;

  get bytes(): number {
    return this.#bytes;
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    // Nearly every body comes in one piece.
    if (this.#bytes > chunk.length && chunk.length < SMALL_BYTES) return this.#copy(chunk);
    this.#endCopy();
    this.#chunks.push(chunk);
  }

  whole(): Buffer {
    this.#endCopy();
    if (this.#chunks.length !== 1) this.#chunks = [Buffer.concat(this.#chunks, this.#bytes)];
    return this.#chunks[0]!;
  }

  clear(): void {
    this.#chunks = [];
    this.#block = undefined;
    this.#from = this.#to = 0;
  }

  #copy(chunk: Buffer): void {
    if (!this.#block || this.#to + chunk.length > this.#block.length) {
      this.#endCopy();
      this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
      this.#from = this.#to = 0;
    }
    this.#to += chunk.copy(this.#block, this.#to);
  }

  #endCopy(): void {
    if (this.#from === this.#to) return;
    this.#chunks.push(this.#block!.subarray(this.#from, this.#to));
    this.#from = this.#to;
  }
}

/** A piece of this many bytes pays for itself. */
const FAIR_BYTES = 512;
/** Smaller ones that all answers may bring in one turn of the event loop: about 8 ms. */
const PER_TURN = 4_000;

const came = new TickCount();

/** Whether the answer may continue in this turn of the event loop. */
export function hasTurn(piece: Buffer): boolean {
  return piece.length >= FAIR_BYTES || came.add() <= PER_TURN;
}
