/** Sends for one WebSocket: message after message, large ones in fragments. */
import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { AnswerSize } from "../../../graphql/context/answer-size.ts";
import type { Result } from "../../../graphql/requests/request.ts";
import { jsonOf } from "../../../graphql/requests/written-events.ts";
import { LIMITS } from "../../../lib/limits.ts";
import { PIECE_BYTES, type PieceWriter } from "../../write-pieces.ts";
import type { Unanswered } from "./unanswered.ts";

/** How a message of graphql-ws ends whose payload is held. */
const HELD = /\{"([\da-f-]{36})":0\}\}$/;

export class Outgoing {
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #writer: PieceWriter;
  readonly #held = new Map<string, { text: string; size: AnswerSize }>();
  readonly #unanswered: Unanswered;
  #last: Promise<unknown> | undefined;
  #waiting = 0;
  #waitingBytes = 0;

  constructor(webSocket: WebSocket, socket: Socket, writer: PieceWriter, unanswered: Unanswered) {
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#writer = writer;
    this.#unanswered = unanswered;
  }

  /** A result as text, and what stands for it in the message that graphql-ws makes and sends next. */
  hold(result: Result, size: AnswerSize): Record<string, number> {
    const key = randomUUID();
    const text = jsonOf(result);
    size.settle(text.length);
    this.#held.set(key, { text, size });
    return { [key]: 0 };
  }

  /** Resolves when the message is with the kernel, so that a subscription's next state waits for a slow reader. */
  async send(message: string): Promise<void> {
    const key = message.endsWith(":0}}") ? HELD.exec(message)?.[1] : undefined;
    const held = key === undefined ? undefined : this.#held.get(key);
    if (!held) return this.#queue(message, message.length);
    this.#held.delete(key!);
    const start = message.length - key!.length - '{"":0}}'.length;
    await this.#queue(`${message.slice(0, start)}${held.text}}`, 0);
    held.size.clear();
  }

  /** `uncounted`: its bytes, but those of a result, which are counted until they are taken (graphql/context/answer-size.ts). */
  async #queue(text: string, uncounted: number): Promise<void> {
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return;
    // More than its operations and pings need is a flood.
    if (this.#waiting === LIMITS.messagesWaiting) return this.#webSocket.terminate();
    if (this.#last === undefined && text.length <= PIECE_BYTES && this.#socket.writableLength === 0) {
      this.#webSocket.send(text);
      if (this.#socket.writableLength === 0) return;
      return this.#next(uncounted, () => this.#writer.taken(this.#socket, (done) => this.#socket.write("", done)));
    }
    const bytes = Buffer.from(text);
    return this.#next(uncounted, () =>
      this.#writer.pieces(this.#socket, bytes, (piece, isLast, done) =>
        this.#webSocket.send(piece, { binary: false, fin: isLast }, done),
      ),
    );
  }

  async #next(uncounted: number, write: () => Promise<unknown>): Promise<void> {
    if (this.#waitingBytes + uncounted > LIMITS.unansweredBytes || !this.#unanswered.take(uncounted)) {
      return this.#webSocket.terminate();
    }
    this.#waiting++;
    this.#waitingBytes += uncounted;
    const mine = (this.#last ?? Promise.resolve()).then(write).finally(() => {
      this.#waiting--;
      this.#waitingBytes -= uncounted;
      this.#unanswered.give(uncounted);
      if (this.#last === mine) this.#last = undefined;
    });
    this.#last = mine;
    await mine;
  }
}
