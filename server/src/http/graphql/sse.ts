/** Subscriptions as Server-Sent Events: `next` with a result, `complete` at the end (graphql-sse, distinct connections). */
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { notSignedIn } from "../../auth/caller.ts";
import type { AnswerSize } from "../../graphql/context/answer-size.ts";
import type { Answer, Result } from "../../graphql/requests/request.ts";
import { jsonOf } from "../../graphql/requests/written-events.ts";
import type { Clock } from "../../lib/clock.ts";
import { writeHead, type Exchange } from "../write-response.ts";
import type { Admission } from "../admission/admission.ts";
import type { Connections } from "../connections/connections.ts";
import type { PieceWriter } from "../write-pieces.ts";
import { Pings } from "./pings.ts";

export type EventStreams = {
  send(exchange: Exchange, answer: Answer & { kind: "stream" }, headers?: OutgoingHttpHeaders): Promise<void>;
  sendOne(exchange: Exchange, answer: Answer & { kind: "result" }, headers?: OutgoingHttpHeaders): Promise<void>;
} & Disposable;

const eventOf = (result: Result): string => `event: next\ndata: ${jsonOf(result)}\n\n`;
const COMPLETE = "event: complete\ndata:\n\n";

type Options = { admission: Admission; writer: PieceWriter; clock: Clock; connections: Connections };

export function createEventStreams({ admission, writer, clock, connections }: Options): EventStreams {
  const open = new Set<ServerResponse>();
  const pings = new Pings<ServerResponse>(clock, (response) => {
    if (!response.writableNeedDrain) response.write(":\n\n");
  });

  /** False when the reader has gone away or was cut. */
  const write = ({ request, response }: Exchange, text: string): Promise<boolean> =>
    writer.pieces(request.socket, Buffer.from(text), (piece, _isLast, done) => void response.write(piece, done));

  const writeResult = async (exchange: Exchange, size: AnswerSize, result: Result): Promise<boolean> => {
    const text = eventOf(result);
    size.settle(text.length);
    return write(exchange, text);
  };

  return {
    async send(exchange, { caller, results, size }, headers) {
      const { response } = exchange;
      begin(exchange, headers);
      open.add(response);
      const stopPings = pings.add(response);
      const stop = (): void => void results.return();
      response.once("close", () => connections.endInTurn(exchange.request.socket, stop));
      let isExpired = false;
      using _watched = caller && admission.watch(caller, () => ((isExpired = true), stop()));
      try {
        for await (const result of results) {
          // The source keeps the newest state while a slow reader's connection is full.
          if (!(await writeResult(exchange, size, result))) break;
        }
      } finally {
        open.delete(response);
        stopPings();
      }
      if (isExpired) response.write(eventOf({ errors: [expired()] }));
      response.end(COMPLETE);
    },
    async sendOne(exchange, { result, size }, headers) {
      begin(exchange, headers);
      await writeResult(exchange, size, result);
      size.clear();
      exchange.response.end(COMPLETE);
    },
    [Symbol.dispose]: () => {
      pings[Symbol.dispose]();
      for (const response of open) response.destroy();
    },
  };
}

function begin(exchange: Exchange, headers?: OutgoingHttpHeaders): void {
  // Otherwise nginx would buffer events.
  const own = { "x-accel-buffering": "no", ...headers };
  writeHead(exchange, 200, "text/event-stream; charset=utf-8", undefined, own);
  exchange.response.write(":\n\n");
}

const expired = () => {
  const { code } = notSignedIn();
  return { message: "the credential has expired or was revoked", extensions: { code } } as const;
};
