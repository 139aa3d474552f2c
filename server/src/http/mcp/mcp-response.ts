/** The response to one message: JSON, or Server-Sent Events once there is progress to tell. */
import type { OutgoingHttpHeaders } from "node:http";
import type { AnswerSize } from "../../graphql/context/answer-size.ts";
import type { Json } from "../../lib/json/json.ts";
import { stringify } from "../../lib/json/json-text.ts";
import { sendHeld } from "../send-held.ts";
import type { PieceWriter } from "../write-pieces.ts";
import { writeHead, type Exchange } from "../write-response.ts";

type Options = { writer: PieceWriter; exchange: Exchange; headers: OutgoingHttpHeaders | undefined };

export class McpResponse {
  readonly #options: Options;
  #isStream = false;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Whether the client takes events beside the answer. */
  get takesEvents(): boolean {
    return /text\/event-stream/i.test(this.#options.exchange.request.headers.accept ?? "");
  }

  /** Opens the stream. A reader that is slow misses some. */
  tellProgress(progressToken: Json, percent: number, message: string | undefined): void {
    const { exchange, headers } = this.#options;
    const { response } = exchange;
    if (response.writableEnded || response.writableNeedDrain) return;
    if (!this.#isStream) {
      // Otherwise nginx would buffer events.
      writeHead(exchange, 200, "text/event-stream; charset=utf-8", undefined, {
        "x-accel-buffering": "no",
        ...headers,
      });
      this.#isStream = true;
    }
    const params = { progressToken, progress: percent, total: 100, ...(message !== undefined && { message }) };
    response.write(eventOf(JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params })));
  }

  /** A message, and the end. `size` holds it until the client has it. */
  async send(status: number, message: object, size?: AnswerSize, more?: OutgoingHttpHeaders): Promise<void> {
    const { writer, exchange, headers } = this.#options;
    const { request, response } = exchange;
    const text = stringify(message);
    size?.settle(text.length);
    const sent = (): void => size?.[Symbol.dispose]();
    if (!this.#isStream) return sendHeld(writer, exchange, { status, text, headers: { ...headers, ...more } }, sent);
    await writer.pieces(
      request.socket,
      Buffer.from(eventOf(text)),
      (piece, _isLast, done) => void response.write(piece, done),
    );
    response.end();
    sent();
  }

  /** A notification has no answer. */
  accept(): void {
    const { exchange, headers } = this.#options;
    writeHead(exchange, 202, undefined, 0, headers);
    exchange.response.end();
  }
}

const eventOf = (text: string): string => `event: message\ndata: ${text}\n\n`;
