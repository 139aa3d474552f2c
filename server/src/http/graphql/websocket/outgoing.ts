/** Sends for one WebSocket: message after message, large ones in fragments, short ones of one tick of the event loop in one write. */
import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { AnswerSize } from "../../../graphql/context/answer-size.ts";
import type { Result } from "../../../graphql/requests/request.ts";
import { jsonOf } from "../../../graphql/requests/written-events.ts";
import { LIMITS } from "../../../lib/limits.ts";
import { PIECE_BYTES, type PieceWriter } from "../../write-pieces.ts";
import type { Unanswered } from "./unanswered.ts";

/** Messages of this tick of the event loop, which the socket has and the kernel has not. */
type Gathered = PromiseWithResolvers<void> & { count: number; uncounted: number };

export class Outgoing {
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #writer: PieceWriter;
  readonly #unanswered: Unanswered;
  #last: Promise<unknown> | undefined;
  #gathered: Gathered | undefined;
  #waiting = 0;
  #waitingBytes = 0;

  constructor(webSocket: WebSocket, socket: Socket, writer: PieceWriter, unanswered: Unanswered) {
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#writer = writer;
    this.#unanswered = unanswered;
  }

  /** The next result of an operation. `id`: as JSON. `size` is held until the kernel has it. */
  async sendNext(id: string, result: Result, size: AnswerSize): Promise<void> {
    const json = jsonOf(result);
    size.settle(json.length);
    await this.#queue(`{"id":${id},"type":"next","payload":${json}}`, 0);
    size.clear();
  }

  /** Resolves when the message is with the kernel, so that a subscription's next state waits for a slow reader. */
  send(message: string): Promise<void> {
    return this.#queue(message, message.length);
  }

  /** `uncounted`: its bytes, but those of a result, which are counted until they are taken (graphql/context/answer-size.ts). */
  async #queue(text: string, uncounted: number): Promise<void> {
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return;
    // More than its operations and pings need is a flood.
    if (this.#waiting >= LIMITS.messagesWaiting) return this.#webSocket.terminate();
    const isFree = this.#gathered !== undefined || this.#socket.writableLength === 0;
    if (this.#last === undefined && text.length <= PIECE_BYTES && isFree) return this.#gather(text, uncounted);
    const bytes = Buffer.from(text);
    return this.#next(1, uncounted, () =>
      this.#writer.pieces(this.#socket, bytes, (piece, isLast, done) =>
        this.#webSocket.send(piece, { binary: false, fin: isLast }, done),
      ),
    );
  }

  #gather(text: string, uncounted: number): Promise<void> {
    const gathered = (this.#gathered ??= this.#begin());
    gathered.count++;
    gathered.uncounted += uncounted;
    this.#webSocket.send(text);
    if (this.#socket.writableLength >= PIECE_BYTES) this.#flush();
    return gathered.promise;
  }

  #begin(): Gathered {
    this.#socket.cork();
    setImmediate(() => this.#flush());
    return { ...Promise.withResolvers<void>(), count: 0, uncounted: 0 };
  }

  #flush(): void {
    const gathered = this.#gathered;
    if (!gathered) return;
    this.#gathered = undefined;
    this.#socket.uncork();
    const { count, uncounted, resolve } = gathered;
    if (this.#socket.writableLength === 0) return resolve();
    const taken = (): Promise<unknown> => this.#writer.taken(this.#socket, (done) => this.#socket.write("", done));
    void this.#next(count, uncounted, taken).then(resolve);
  }

  async #next(count: number, uncounted: number, write: () => Promise<unknown>): Promise<void> {
    if (this.#waitingBytes + uncounted > LIMITS.unansweredBytes || !this.#unanswered.take(uncounted)) {
      return this.#webSocket.terminate();
    }
    this.#waiting += count;
    this.#waitingBytes += uncounted;
    const mine = (this.#last ?? Promise.resolve()).then(write).finally(() => {
      this.#waiting -= count;
      this.#waitingBytes -= uncounted;
      this.#unanswered.give(uncounted);
      if (this.#last === mine) this.#last = undefined;
    });
    this.#last = mine;
    await mine;
  }
}
