/**
 * A model's answer as it comes, event by event (text/event-stream), for a provider's package to parse. Events are given to it in small
 * pieces, in turns with other organizations, and the wire waits while the package is behind.
 */
import { LIMITS } from "../lib/limits.ts";
import { tooLarge } from "../outbound/errors.ts";
import type { BodySink } from "../outbound/outbound.ts";

/** Parsed in one turn: a package takes about 10 µs for an event of 250 bytes. */
const TURN_BYTES = 16 * 1_024;
/** The wire waits while the package is this far behind. */
const BEHIND_BYTES = 64 * 1_024;

type Options = { host: string; turn: (() => Promise<void> | undefined) | undefined; left: () => void };

export class EventStream implements BodySink {
  /** Errors if the answer breaks off. `left` is called when its reader wants no more. */
  readonly body: ReadableStream<Uint8Array>;
  readonly #options: Options;
  readonly #limits: EventLimits;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #caughtUp: PromiseWithResolvers<void> | undefined;
  #more: PromiseWithResolvers<void> | undefined;
  #end: { error?: unknown } | undefined;
  /** The bytes of the answer that its reader keeps. */
  keptBytes = 0;

  constructor(options: Options) {
    this.#options = options;
    this.#limits = new EventLimits(options.host);
    this.body = new ReadableStream({ pull: (to) => this.#give(to), cancel: options.left }, { highWaterMark: 0 });
  }

  take(piece: Uint8Array): Promise<void> | undefined {
    this.#limits.count(piece);
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    this.#more?.resolve();
    return this.#bytes < BEHIND_BYTES ? undefined : (this.#caughtUp ??= Promise.withResolvers()).promise;
  }

  end(): void {
    this.#end ??= {};
    this.#more?.resolve();
  }

  fail(error: unknown): void {
    this.#end = { error };
    this.#more?.resolve();
  }

  async #give(to: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    while (this.#bytes === 0 && !this.#end) {
      this.#more = Promise.withResolvers();
      await this.#more.promise;
    }
    const turn = this.#options.turn?.();
    if (turn) await turn;
    if (this.#end && "error" in this.#end) to.error(this.#end.error);
    else if (this.#bytes === 0) to.close();
    else to.enqueue(this.#next());
  }

  /** At most what is parsed in one turn. */
  #next(): Uint8Array {
    let [count, bytes] = [0, 0];
    while (count < this.#pieces.length && bytes < TURN_BYTES) bytes += this.#pieces[count++]!.length;
    const taken = this.#pieces.splice(0, count);
    const whole = taken.length === 1 ? taken[0]! : Buffer.concat(taken, bytes);
    const piece = whole.subarray(0, TURN_BYTES);
    if (piece.length < whole.length) this.#pieces.unshift(whole.subarray(TURN_BYTES));
    this.#bytes -= piece.length;
    if (this.#bytes < BEHIND_BYTES) {
      this.#caughtUp?.resolve();
      this.#caughtUp = undefined;
    }
    return piece;
  }
}

const [LF, CR, QUOTE, COMMA, BACKSLASH, LIST, OBJECT] = Buffer.from('\n\r",\\[{');

/** Bounds what comes before it is parsed: a package checks each value of an event, 6 µs each. */
class EventLimits {
  readonly #host: string;
  #bytes = 0;
  /** The bytes of the event that comes. */
  #eventBytes = 0;
  #values = 0;
  #isText = false;
  #isEscaped = false;
  #isLineEmpty = true;
  #last = 0;

  constructor(host: string) {
    this.#host = host;
  }

  /** Throws OutboundError. */
  count(piece: Uint8Array): void {
    this.#bytes += piece.length;
    if (this.#bytes > LIMITS.modelStreamBytes) throw tooLarge(this.#host, LIMITS.modelStreamBytes);
    let last = this.#last;
    for (let at = 0; at < piece.length; at++) {
      const byte = piece[at]!;
      this.#eventBytes++;
      if (byte !== LF && byte !== CR) this.#read(byte);
      // Both together are one end.
      else if (byte === CR || last !== CR) this.#endLine();
      last = byte;
    }
    this.#last = last;
    this.#check();
  }

  /** A blank line ends an event; no text of JSON goes over a line. */
  #endLine(): void {
    if (this.#isLineEmpty) {
      this.#check();
      this.#eventBytes = this.#values = 0;
    }
    this.#isLineEmpty = true;
    this.#isText = this.#isEscaped = false;
  }

  #read(byte: number): void {
    this.#isLineEmpty = false;
    if (this.#isText) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) this.#isText = false;
    } else if (byte === QUOTE) this.#isText = true;
    else if (byte === COMMA || byte === LIST || byte === OBJECT) this.#values++;
  }

  #check(): void {
    if (this.#eventBytes > LIMITS.outputBytes) throw tooLarge(this.#host);
    if (this.#values >= LIMITS.modelAnswerValues) throw new TooManyValues();
  }
}

/** The answer counts as none. */
class TooManyValues extends Error {}
