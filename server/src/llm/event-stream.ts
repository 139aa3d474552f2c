/**
 * A model's answer as it comes, event by event (text/event-stream), for a provider's package to parse, but for those whose meaning is known
 * already (known-events.ts). They are read in turns with other organizations, and the wire waits while the package is behind.
 */
import { setImmediate as nextTick } from "node:timers/promises";
import { LIMITS } from "../lib/limits.ts";
import { Pace, type Beats } from "../fairness/pace.ts";
import { tooLarge } from "../outbound/errors.ts";
import type { BodySink } from "../outbound/outbound.ts";
import { KnownEvents, type KnownText, type Texts } from "./known-events.ts";

/** Parsed in one turn: a package takes about 10 µs for an event of 250 bytes. */
const TURN_BYTES = 16 * 1_024;
/** The wire waits while the package is this far behind. */
const BEHIND_BYTES = 64 * 1_024;
/** The package gets this many at a time until it is known what it makes of them: two show it, and then the others cost a tenth. */
const LESSON_EVENTS = 4;
/** After so many lessons without a known event, as in the arguments of a tool's call, it gets all: each takes a tick of the event loop. */
const MAX_VAIN_LESSONS = 16;
/** Known events that come within this time are read and shown together: a turn costs more than a few of them. */
const JOINED_MS = 50;

type Options = {
  host: string;
  turn: (() => Promise<void> | undefined) | undefined;
  beats: Beats;
  /** Called when nothing more of the answer is wanted. */
  left: () => void;
};

export class EventStream implements BodySink {
  /** Errors if the answer breaks off. */
  readonly body: ReadableStream<Uint8Array>;
  readonly known = new KnownEvents();
  /** Gets what was in events that the package need not read. */
  onKnown: (texts: Texts) => void = () => {};
  readonly #options: Options;
  readonly #limits: EventLimits;
  readonly #pace: Pace;
  /** The bytes that are not read yet, as Latin-1. */
  #text = "";
  /** The texts of known events that came before those bytes, until they are shown. */
  #texts: Texts = { text: "", reasoning: "" };
  /** The bytes are one piece that is no known event, but may begin one. */
  #isCut = false;
  /** The package was given a few events to show what it makes of them. */
  #isLesson = false;
  #lessonsLeft = MAX_VAIN_LESSONS;
  /** No event ends before. */
  #searched = 0;
  #bytes = 0;
  /** The wire waits until the package is less far behind. */
  #drained: PromiseWithResolvers<void> | undefined;
  #more: PromiseWithResolvers<void> | undefined;
  #end: { error?: unknown } | undefined;
  /** The bytes of the answer that its reader keeps. */
  keptBytes = 0;

  constructor(options: Options) {
    this.#options = options;
    this.#limits = new EventLimits(options.host);
    this.#pace = new Pace(options.beats, JOINED_MS, () => this.#more?.resolve());
    this.body = new ReadableStream({ pull: (to) => this.#give(to), cancel: options.left }, { highWaterMark: 0 });
  }

  take(piece: Buffer): Promise<void> | undefined {
    this.#bytes += piece.length;
    if (this.#bytes > LIMITS.modelStreamBytes) throw tooLarge(this.#options.host, LIMITS.modelStreamBytes);
    if (this.#text === "") {
      this.#isCut = !this.#keepText(this.known.readBytes(piece));
      if (this.#isCut) this.#text = piece.toString("latin1");
    } else this.#takeMore(piece);
    if (this.known.hasFrame && this.#unread < TURN_BYTES) this.#pace.ask();
    else this.#more?.resolve();
    return this.#unread < BEHIND_BYTES ? undefined : (this.#drained ??= Promise.withResolvers()).promise;
  }

  get #unread(): number {
    return this.#texts.text.length + this.#texts.reasoning.length + this.#text.length;
  }

  get #hasTexts(): boolean {
    return this.#texts.text !== "" || this.#texts.reasoning !== "";
  }

  /** The piece may be the second half of an event that a read of the socket has cut. */
  #takeMore(piece: Buffer): void {
    this.#text += piece.toString("latin1");
    if (this.#isCut && this.#keepText(this.known.read(this.#text))) {
      this.#text = "";
      this.#searched = 0;
    }
    this.#isCut = false;
  }

  /** Most pieces are an event that differs from the one before in its text alone. */
  #keepText(known: KnownText | undefined): boolean {
    if (known) this.#texts[known.kind] += known.text;
    return known !== undefined;
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
    try {
      while (!(await this.#giveNext(to)));
    } catch (error) {
      // A body that errors is not cancelled by its reader.
      this.#options.left();
      throw error;
    }
  }

  /** Returns whether the package was given something. */
  async #giveNext(to: ReadableStreamDefaultController<Uint8Array>): Promise<boolean> {
    while (!this.#hasNext() && !this.#end) {
      this.#more = Promise.withResolvers();
      await this.#more.promise;
    }
    // The package asks for more before it shows what it makes of what it has.
    if (this.#isLesson) await nextTick();
    // Texts that are read already wait for no turn: to pass them on costs 3 µs, as much as a turn.
    const turn = this.#hasTexts && this.#text === "" ? undefined : this.#options.turn?.();
    if (turn) await turn;
    if (this.#hasTexts || this.#knowsNext()) {
      await this.known.caughtUp();
      this.#showTexts();
      return false;
    }
    if (this.#end && "error" in this.#end) to.error(this.#end.error);
    else if (this.#text === "") to.close();
    else this.#handOver(to);
    return true;
  }

  /** Whether there is a whole event, or as much as is parsed in one turn. */
  #hasNext(): boolean {
    if (this.#hasTexts) return true;
    if (this.#text === "") return false;
    if (!this.known.isLearning || this.#text.length >= TURN_BYTES) return true;
    const end = endOfEvent(this.#text, this.#searched);
    if (end === undefined) this.#searched = Math.max(0, this.#text.length - LONGEST_END);
    return end !== undefined;
  }

  #knowsNext(): boolean {
    const end = this.known.hasFrame ? endOfEvent(this.#text) : undefined;
    return end !== undefined && this.known.read(this.#text.slice(0, end)) !== undefined;
  }

  #showTexts(): void {
    let from = 0;
    for (let end = endOfEvent(this.#text); end !== undefined; end = endOfEvent(this.#text, end)) {
      if (!this.#keepText(this.known.read(this.#text.slice(from, end)))) break;
      from = end;
    }
    const texts = this.#texts;
    this.#texts = { text: "", reasoning: "" };
    this.#lessonsLeft = MAX_VAIN_LESSONS;
    this.#drop(from);
    this.#pace.done();
    this.onKnown(texts);
  }

  /** A few whole events, or as many bytes as are parsed in one turn: if the first is not whole, or all is the package's. */
  #handOver(to: ReadableStreamDefaultController<Uint8Array>): void {
    let length = 0;
    this.#isLesson = this.known.isLearning && this.#lessonsLeft-- > 0;
    if (this.known.isLearning) {
      for (let left = this.#isLesson ? LESSON_EVENTS : Infinity; left > 0; left--) {
        const end = endOfEvent(this.#text, length);
        if (end === undefined || end > TURN_BYTES) break;
        this.known.handOver(this.#text.slice(length, end));
        length = end;
      }
      // An event that is not whole.
      if (length === 0) this.known.stop();
    }
    const bytes = Buffer.from(this.#text.slice(0, length || TURN_BYTES), "latin1");
    this.#limits.count(bytes);
    this.#drop(bytes.length);
    to.enqueue(bytes);
  }

  #drop(count: number): void {
    this.#text = this.#text.slice(count);
    this.#searched = 0;
    if (this.#unread >= BEHIND_BYTES) return;
    this.#drained?.resolve();
    this.#drained = undefined;
  }
}

/** Where the blank line ends that ends the event that begins, or has begun, at `from`. */
function endOfEvent(text: string, from = 0): number | undefined {
  EVENT_END.lastIndex = from;
  return EVENT_END.test(text) ? EVENT_END.lastIndex : undefined;
}

const EVENT_END = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)/g;
const LONGEST_END = 3;

const [LF, CR, QUOTE, COMMA, BACKSLASH, LIST, OBJECT] = Buffer.from('\n\r",\\[{');

/** Bounds what comes before it is parsed: a package checks each value of an event, 6 µs each. */
class EventLimits {
  readonly #host: string;
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
