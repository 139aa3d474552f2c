/**
 * One request and its answer on a dispatcher, with the whole body up to the limit. Uses undici's lowest-level handler:
 * `undici.request` does not reject while it still connects, and its stream costs more than the guard.
 */
import type { Dispatcher } from "undici";
import type { Charge } from "../fairness/fair-pool.ts";
import { codingOf, type Answer, type IsEnough } from "./answer.ts";
import { asOutboundError, tooLarge, tooManyPieces } from "./errors.ts";
import type { Interruption } from "./interruption.ts";
import { hasTurn, Pieces } from "./pieces.ts";
import type { BodySink, CheckedRequest, OutboundRequest } from "./request.ts";

/** Size from which a body is charged: most are smaller. */
export const FREE_BYTES = 64 * 1024;
/** 1xx answers before the final one; each costs as much as an answer. */
const EARLY_MOST = 16;
/** Pieces that arrive in spite of a pause when the connection ends: nothing holds them back. */
const PIECES_AFTER_PAUSE = 1_000;
/** Most streams end with their answer, or right after it, and their connection is kept. */
const ENOUGH_AFTER_MS = 250;

/**
 * `charge`: for the body, which waits on the wire while there is no room for it. `idleMs`: a body that has begun is given up
 * when nothing of it comes for this long. `mostBytes`: the body's maximum.
 */
type Reading = {
  charge: Charge;
  idleMs: number;
  mostBytes: number;
  isEnough: IsEnough | undefined;
  stream: OutboundRequest["stream"];
  sent: OutboundRequest["sent"];
};

export function exchange(
  dispatcher: Dispatcher,
  request: CheckedRequest,
  interruption: Interruption,
  reading: Reading,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    interruption.throwIfEnded();
    const { method, url, headers, body = null } = request;
    const { origin } = url;
    const handler = new AnswerHandler(method, origin, reading, resolve, reject);
    interruption.stop = handler.fail;
    const path = url.pathname + url.search;
    // Until the answer begins, the call's own time limit is the only one. A pause of ours doesn't count as silence.
    const limits = { headersTimeout: 0, bodyTimeout: reading.idleMs };
    dispatcher.dispatch({ origin, path, method, headers, body, ...limits }, handler);
  });
}

type Controller = Dispatcher.DispatchController;
type Headers = Parameters<NonNullable<Dispatcher.DispatchHandler["onResponseStart"]>>[2];

class AnswerHandler implements Dispatcher.DispatchHandler {
  readonly #method: string;
  readonly #host: string;
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: unknown) => void;
  readonly #pieces = new Pieces();
  #early = 0;
  #head: Omit<Answer, "body"> = { status: 0, statusText: "", headers: {}, setCookies: [] };
  #controller: Controller | undefined;
  #failure: Error | undefined;
  /** Reasons for which the body waits on the wire. */
  #pauses = 0;
  #afterPause = 0;
  #isHeld = false;
  readonly #charge: Charge;
  readonly #mostBytes: number;
  /** Ends the wait for a charge. Most answers need none. */
  #over: AbortController | undefined;
  #isEnough: IsEnough | undefined;
  /** Set while `#isEnough` will be asked, or is. */
  #asking: NodeJS.Timeout | undefined;
  readonly #stream: OutboundRequest["stream"];
  readonly #sent: OutboundRequest["sent"];
  #sink: BodySink | undefined;

  constructor(
    method: string,
    host: string,
    { charge, mostBytes, isEnough, stream, sent }: Reading,
    resolve: (answer: Answer) => void,
    reject: (error: unknown) => void,
  ) {
    this.#method = method;
    this.#host = host;
    this.#charge = charge;
    this.#mostBytes = mostBytes;
    this.#isEnough = isEnough;
    this.#stream = stream;
    this.#sent = sent;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** Rejects and closes the socket; a request that still waits for its connection is not sent. */
  readonly fail = (reason: unknown): void => {
    if (this.#failure) return;
    this.#failure = reason instanceof Error ? reason : new Error("aborted");
    this.#reject(reason);
    this.#over?.abort();
    clearTimeout(this.#asking);
    this.#pieces.clear();
    this.#controller?.abort(this.#failure);
  };

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    if (this.#failure) controller.abort(this.#failure);
    else this.#sent?.();
  }

  onResponseStart(_controller: Controller, status: number, headers: Headers, statusText?: string): void {
    if (status < 200) return ++this.#early > EARLY_MOST ? this.fail(tooManyPieces(this.#host)) : undefined;
    const setCookies = [headers["set-cookie"] ?? []].flat();
    this.#head = { status, statusText: statusText ?? "", headers: flatten(headers), setCookies };
    if (this.#stream && this.#head.headers["content-encoding"] === undefined) this.#sink = this.#stream(this.#head);
    if (this.#sink) return;
    const hasBody = this.#method !== "HEAD" && status !== 304;
    const announced = hasBody ? Number(this.#head.headers["content-length"] ?? 0) : 0;
    if (announced > this.#mostBytes) this.fail(tooLarge(this.#host, this.#mostBytes));
    else if (announced > FREE_BYTES) this.#hold(announced);
    if (this.#head.headers["content-encoding"] !== undefined) this.#isEnough = undefined;
    this.#askSoon();
  }

  onResponseData(_controller: Controller, chunk: Buffer): void {
    if (this.#failure) return;
    if (this.#sink) this.#pass(chunk, this.#sink);
    else this.#pieces.add(chunk);
    if (this.#pieces.bytes > this.#mostBytes) return this.fail(tooLarge(this.#host, this.#mostBytes));
    // The answer did not say how long it is.
    const keptBytes = this.#sink?.keptBytes ?? this.#pieces.bytes;
    if (keptBytes > FREE_BYTES && !this.#isHeld) this.#hold(this.#mostBytes);
    if (this.#pauses > 0 && ++this.#afterPause > PIECES_AFTER_PAUSE) return this.fail(tooManyPieces(this.#host));
    if (!hasTurn(chunk) && this.#pauses === 0) this.#waitForTurn();
    this.#askSoon();
  }

  #pass(chunk: Buffer, sink: BodySink): void {
    try {
      const taken = sink.take(chunk);
      if (!taken) return;
      this.#pause();
      void taken.then(() => this.#goOn());
    } catch (error) {
      this.fail(error);
    }
  }

  /** Takes all that it can need at once, unpacked too, so that no two wait for each other with half a body each. */
  #hold(body: number): void {
    this.#isHeld = true;
    const bytes = codingOf(this.#head.headers) ? body + this.#mostBytes : body;
    if (this.#charge.tryHold(bytes)) return;
    this.#pause();
    this.#over = new AbortController();
    void this.#charge.hold(bytes, this.#over.signal).then((isHeld) => isHeld && this.#goOn());
  }

  #askSoon(): void {
    if (this.#isEnough && !this.#failure) this.#asking ??= setTimeout(() => void this.#ask(), ENOUGH_AFTER_MS);
  }

  async #ask(): Promise<void> {
    this.#pause();
    const answer = { ...this.#head, body: this.#pieces.whole() };
    const isEnough = await this.#isEnough!(answer);
    // It ended meanwhile, and its connection may have another request.
    if (!this.#isEnough) return;
    if (isEnough) {
      this.#resolve(answer);
      return this.fail(new Error("the rest of the answer is not needed"));
    }
    this.#asking = undefined;
    if (this.#pieces.bytes > answer.body.length) this.#askSoon();
    this.#goOn();
  }

  #waitForTurn(): void {
    this.#pause();
    setImmediate(() => this.#goOn());
  }

  #pause(): void {
    if (this.#pauses++ === 0) this.#controller?.pause();
  }

  #goOn(): void {
    if (--this.#pauses > 0 || this.#failure) return;
    this.#afterPause = 0;
    this.#controller?.resume();
  }

  onResponseEnd(): void {
    clearTimeout(this.#asking);
    this.#isEnough = undefined;
    const body = this.#pieces.whole();
    this.#resolve({ ...this.#head, body });
  }

  onResponseError(_controller: Controller | null, error: Error): void {
    this.#over?.abort();
    clearTimeout(this.#asking);
    this.#isEnough = undefined;
    this.#reject(asOutboundError(error, this.#host));
  }
}

/** Joins repeated headers as RFC 9110 5.3 says, which excepts `Set-Cookie`. One named `__proto__` is lost: a string can't be a prototype. */
function flatten(headers: Headers): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined && name !== "set-cookie") flat[name] = typeof value === "string" ? value : value.join(", ");
  }
  return flat;
}
