/** A small real HTTP server that answers as a test says, and keeps the requests. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export type EndpointAnswer = {
  status?: number;
  headers?: Record<string, string | string[]>;
  body?: string | Uint8Array;
};

export type Asked = { method: string; url: string; headers: IncomingHttpHeaders; body: string };

export type Endpoint = {
  /** Has a new path after each `reset`: late requests of earlier tests get 204 and are not kept. */
  readonly url: string;
  /** The requests since the last `reset`, in order. */
  readonly seen: Asked[];
  /** The answer to each request; `held`: none until `letGo`. */
  answer: EndpointAnswer | "held";
  /** Answers to the next requests, one each; then `answer` holds. */
  answers: EndpointAnswer[];
  /** How many requests wait. */
  readonly held: number;
  letGo(body: string): void;
  reset(): void;
} & AsyncDisposable;

export async function startEndpoint(): Promise<Endpoint> {
  const waiting = new Set<ServerResponse>();
  let test = 0;
  const server = createServer((request, response) => void respond(request, response));
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [, path, url = ""] = /^(\/\d+)(.*)$/.exec(request.url!) ?? [];
    if (path !== `/${test}`) return void response.writeHead(204).end();
    endpoint.seen.push({ method: request.method!, url, headers: request.headers, body: await text(request) });
    const answer = endpoint.answers.shift() ?? endpoint.answer;
    if (answer !== "held") {
      const { status = 200, headers = {}, body } = answer;
      return void response.writeHead(status, headers).end(body);
    }
    waiting.add(response);
    response.once("close", () => waiting.delete(response));
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const endpoint: Endpoint = {
    get url() {
      return `${origin}/${test}`;
    },
    seen: [],
    answer: {},
    answers: [],
    get held() {
      return waiting.size;
    },
    letGo(body) {
      for (const response of waiting) response.end(body);
      waiting.clear();
    },
    reset() {
      this.letGo("");
      test++;
      this.seen.length = this.answers.length = 0;
      this.answer = {};
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
  return endpoint;
}
