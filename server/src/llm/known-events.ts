/**
 * Most events of a model's answer differ from the one before in their text alone. Once a provider's package has made one piece of text of
 * such an event, those that follow it are read here: a package takes 25 µs for each, this takes one. No protocol is known here: which string of
 * an event is its text is seen from what the package made of it.
 */
import { isDeepStrictEqual } from "node:util";
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";

/** A package keeps nothing of either. */
type Kind = "text" | "reasoning";
export type Texts = Record<Kind, string>;
export type KnownText = { kind: Kind; text: string };
const KINDS: Partial<Record<Part["type"], Kind>> = { "text-delta": "text", "reasoning-delta": "reasoning" };

/** A part of the answer as the package gives it. */
type Part = Pick<LanguageModelV4StreamPart, "type"> & { delta?: string };

/** The bytes of an event around its text, in Latin-1. */
type Frame = { kind: Kind; before: string; after: string; bytes: { before: Buffer; after: Buffer } };

/** A stream whose events all differ in more than their text is left to the package. */
const MAX_LESSONS = 16;
/** Events that a package has not begun with: more than 64 kB of the shortest are none of a model's. */
const MAX_WAITING = 4_096;

type Made = { event: string; value: unknown; parts: number; kind: Kind | undefined; text: string };

/** Events are texts in Latin-1, a character for each byte: what is handed over is what came. */
export class KnownEvents {
  /** Handed over to the package, which has not begun with them. */
  #waiting: string[] = [];
  /** The event with which the package began last, and the parts that it made of it. */
  #last: Made | undefined;
  #frame: Frame | undefined;
  #lessonsLeft = MAX_LESSONS;
  /** Events of the frame that were handed over and whose text has not come. */
  #due = 0;
  #caughtUp: PromiseWithResolvers<void> | undefined;

  /** Whether it is worth looking at single events. */
  get isLearning(): boolean {
    return this.#lessonsLeft > 0;
  }

  get hasFrame(): boolean {
    return this.#frame !== undefined;
  }

  /** The package gets this event. */
  handOver(event: string): void {
    const data = dataOf(event);
    if (data === undefined) return;
    // The package may read an event otherwise after this one.
    this.#frame = undefined;
    if (data.text !== DONE) this.#waiting.push(event);
    if (this.#waiting.length > MAX_WAITING) this.stop();
  }

  /** From here on all is the package's. */
  stop(): void {
    this.#lessonsLeft = 0;
    this.#frame = this.#last = undefined;
    this.#waiting = [];
    this.#due = 0;
    this.#catchUp();
  }

  /** The package begins with the next event, whose data is this. */
  began(value: unknown): void {
    if (!this.isLearning) return;
    this.#learn();
    const event = this.#waiting.shift();
    // It counts events otherwise.
    if (event === undefined) this.stop();
    else this.#last = { event, value, parts: 0, kind: undefined, text: "" };
  }

  /** The package made this of it. */
  made({ type, delta = "" }: Part): void {
    const last = this.#last;
    if (!last) return;
    last.parts++;
    last.kind = KINDS[type];
    last.text = delta;
    if (last.kind === undefined || delta === "" || this.#due === 0 || --this.#due > 0) return;
    this.#catchUp();
  }

  #catchUp(): void {
    this.#caughtUp?.resolve();
    this.#caughtUp = undefined;
  }

  #learn(): void {
    const last = this.#last;
    if (this.#frame || last?.parts !== 1 || last.kind === undefined || last.text === "") return;
    this.#lessonsLeft--;
    const frame = frameIn(last, last.kind);
    if (!frame || !this.#waiting.every((event) => textIn(frame, event))) return;
    this.#frame = frame;
    this.#due = this.#waiting.length;
  }

  /** The text that the package would make of an event. Undefined: unknown. */
  read(event: string): KnownText | undefined {
    return this.#knownText(this.#frame && textIn(this.#frame, event));
  }

  /** The same for a piece of the answer that is one event, in a third of the time. */
  readBytes(piece: Buffer): KnownText | undefined {
    return this.#knownText(this.#frame && textInBytes(this.#frame, piece));
  }

  #knownText(text: string | undefined): KnownText | undefined {
    if (text === undefined) return undefined;
    this.#lessonsLeft = MAX_LESSONS;
    return { kind: this.#frame!.kind, text };
  }

  /** Resolves when the package has read all that it was given, if only known events are missing. Undefined: it has. */
  caughtUp(): Promise<void> | undefined {
    return this.#due === 0 ? undefined : (this.#caughtUp ??= Promise.withResolvers()).promise;
  }
}

const DONE = "[DONE]";
const DATA = /^data:[ ]?(.*)$/gm;

/** Undefined: it has none, as a comment. `text`: empty if it is in several lines. */
function dataOf(event: string): { text: string; start: number } | undefined {
  const [first, ...others] = event.matchAll(DATA);
  if (!first) return undefined;
  const text = first[1]!;
  return { text: others.length > 0 ? "" : text, start: first.index + first[0].length - text.length };
}

/** Undefined: it is not the only string of the event that could have become this text. */
function frameIn({ event, value, text }: Made, kind: Kind): Frame | undefined {
  const data = dataOf(event)!;
  // Behind a carriage return a package waits for what comes next.
  if (!event.endsWith("\n") || !isJsonOf(data.text, value)) return undefined;
  let frame: Frame | undefined;
  for (const [start, end] of stringsIn(data.text)) {
    if (meaningOf(data.text.slice(start, end)) !== text) continue;
    if (frame) return undefined;
    const [before, after] = [event.slice(0, data.start + start), event.slice(data.start + end)];
    const bytes = { before: Buffer.from(before, "latin1"), after: Buffer.from(after, "latin1") };
    frame = { kind, before, after, bytes };
  }
  return frame;
}

function isJsonOf(data: string, value: unknown): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(utf8(data)), value);
  } catch {
    return false;
  }
}

/** Where the strings of a JSON text begin and end, without their quotes. */
function* stringsIn(json: string): Generator<[start: number, end: number]> {
  for (let start = json.indexOf('"') + 1; start > 0;) {
    let end = start;
    for (; end < json.length && json[end] !== '"'; end++) if (json[end] === "\\") end++;
    yield [start, end];
    start = json.indexOf('"', end + 1) + 1;
  }
}

/** Undefined: it is another event. */
function textIn({ before, after }: Frame, event: string): string | undefined {
  const fits = event.length >= before.length + after.length && event.startsWith(before) && event.endsWith(after);
  return fits ? meaningOf(event.slice(before.length, -after.length)) : undefined;
}

/** Undefined: it is another event, or not one. */
function textInBytes({ bytes: { before, after } }: Frame, piece: Buffer): string | undefined {
  const end = piece.length - after.length;
  const fits = end >= before.length && before.compare(piece, 0, before.length) === 0 && after.compare(piece, end) === 0;
  return fits ? meaningOf(piece.toString("latin1", before.length, end)) : undefined;
}

/** ASCII without quotes and escapes. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** The text of a JSON string without its quotes; undefined if it is none. */
function meaningOf(inner: string): string | undefined {
  if (PLAIN.test(inner)) return inner;
  try {
    return JSON.parse(`"${utf8(inner)}"`) as string;
  } catch {
    return undefined;
  }
}

const utf8 = (bytes: string): string => Buffer.from(bytes, "latin1").toString();
