/** What one WebSocket sends: message after message, large ones in fragments. */
import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { AnswerSize } from "../graphql/answer-size.ts";
import type { Result } from "../graphql/graphql.ts";
import { stringify } from "../lib/json-text.ts";
import { PIECE_BYTES, type Delivery } from "./delivery.ts";

/** Messages that wait for a client which does not read; more than its operations and their pings are a flood. */
const MOST_WAITING = 1_000;
/** How a message of graphql-ws ends whose payload is held. */
const HELD = /\{"([\da-f-]{36})":0\}\}$/;

export class Outgoing {
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #delivery: Delivery;
  readonly #held = new Map<string, { text: string; size: AnswerSize }>();
  #last: Promise<unknown> | undefined;
  #waiting = 0;

  constructor(webSocket: WebSocket, socket: Socket, delivery: Delivery) {
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#delivery = delivery;
  }

  /** A result as text, and what stands for it in the message that graphql-ws makes and sends next. */
  hold(result: Result, size: AnswerSize): Record<string, number> {
    const key = randomUUID();
    const text = stringify(result);
    size.settle(text.length);
    this.#held.set(key, { text, size });
    return { [key]: 0 };
  }

  /** Resolves when the message is with the kernel, so that a subscription's next state waits for a slow reader. */
  async send(message: string): Promise<void> {
    const key = message.endsWith(":0}}") ? HELD.exec(message)?.[1] : undefined;
    const held = key === undefined ? undefined : this.#held.get(key);
    if (!held) return this.#queue(message);
    this.#held.delete(key!);
    const start = message.length - key!.length - '{"":0}}'.length;
    await this.#queue(`${message.slice(0, start)}${held.text}}`);
    held.size.clear();
  }

  async #queue(text: string): Promise<void> {
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return;
    if (this.#waiting === MOST_WAITING) return this.#webSocket.terminate();
    if (this.#last === undefined && text.length <= PIECE_BYTES && this.#socket.writableLength === 0) {
      this.#webSocket.send(text);
      if (this.#socket.writableLength === 0) return;
      return this.#next(() => this.#delivery.taken(this.#socket, (done) => this.#socket.write("", done)));
    }
    const bytes = Buffer.from(text);
    return this.#next(() =>
      this.#delivery.pieces(this.#socket, bytes, (piece, isLast, done) =>
        this.#webSocket.send(piece, { binary: false, fin: isLast }, done),
      ),
    );
  }

  async #next(deliver: () => Promise<unknown>): Promise<void> {
    this.#waiting++;
    const mine = (this.#last ?? Promise.resolve()).then(deliver).finally(() => {
      this.#waiting--;
      if (this.#last === mine) this.#last = undefined;
    });
    this.#last = mine;
    await mine;
  }
}
