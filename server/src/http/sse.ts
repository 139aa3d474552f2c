/** Subscriptions as Server-Sent Events: `next` with a result, `complete` at the end (graphql-sse, distinct connections). */
import { once } from "node:events";
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { notSignedIn } from "../auth/caller.ts";
import type { Answer, Result } from "../graphql/graphql.ts";
import type { Exchange } from "./answer.ts";
import type { CredentialWatch } from "./credential-watch.ts";

export type EventStreams = {
  send(exchange: Exchange, answer: Answer & { kind: "stream" }, headers?: OutgoingHttpHeaders): Promise<void>;
  sendOne(exchange: Exchange, result: Result, headers?: OutgoingHttpHeaders): Promise<void>;
} & Disposable;

/** Proxies cut connections that are silent for a minute. */
const PING_EVERY_MS = 15_000;

const eventOf = (result: Result): string => `event: next\ndata: ${JSON.stringify(result)}\n\n`;
const COMPLETE = "event: complete\ndata:\n\n";

export function createEventStreams(credentials: CredentialWatch): EventStreams {
  const open = new Set<ServerResponse>();
  const pings = setInterval(() => {
    for (const response of open) if (!response.writableNeedDrain) response.write(":\n\n");
  }, PING_EVERY_MS).unref();

  return {
    async send(exchange, { caller, results }, headers) {
      const { response } = exchange;
      begin(exchange, headers);
      open.add(response);
      const gone = new AbortController();
      const stop = (): void => {
        gone.abort();
        void results.return();
      };
      response.once("close", stop);
      let isExpired = false;
      using _watched = caller && credentials.watch(caller, () => ((isExpired = true), stop()));
      try {
        for await (const result of results) {
          // The source keeps the newest state while a slow reader's connection is full.
          if (!response.write(eventOf(result)) && !(await drained(response, gone.signal))) break;
        }
      } finally {
        open.delete(response);
      }
      if (isExpired) response.write(eventOf({ errors: [expired()] }));
      response.end(COMPLETE);
    },
    async sendOne(exchange, result, headers) {
      begin(exchange, headers);
      exchange.response.end(eventOf(result) + COMPLETE);
    },
    [Symbol.dispose]: () => {
      clearInterval(pings);
      for (const response of open) response.destroy();
    },
  };
}

function begin({ response, requestId }: Exchange, headers: OutgoingHttpHeaders = {}): void {
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    // nginx would else collect events.
    "x-accel-buffering": "no",
    "x-content-type-options": "nosniff",
    "x-request-id": requestId,
    ...headers,
  });
  response.write(":\n\n");
}

/** False when the reader went away. */
const drained = (response: ServerResponse, signal: AbortSignal): Promise<boolean> =>
  once(response, "drain", { signal }).then(
    () => true,
    () => false,
  );

const expired = () => {
  const { code } = notSignedIn();
  return { message: "the credential has expired or was revoked", extensions: { code } } as const;
};
