/** A server that repeats all that it is sent, in every way that a server may: over HTTP, by redirects and as an MCP server. */
import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Data } from "./client.ts";
import { repeated } from "./planted-secrets.ts";

export type Seen = { method: string; url: string; headers: IncomingHttpHeaders; body: string };

/** `/status/N` answers with that status, `/redirect/N/where` leads to `here`, `away` or `nowhere`. */
export class Echo implements AsyncDisposable {
  readonly seen: Seen[] = [];
  readonly #server: Server;
  /** Set: answers nothing before it resolves. */
  held: Promise<void> | undefined;

  /** Where redirects lead that leave. */
  readonly #elsewhere: string;

  constructor(elsewhere = "") {
    this.#elsewhere = elsewhere;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const one = { method: request.method!, url: request.url!, headers: request.headers, body: await text(request) };
    this.seen.push(one);
    await this.held;
    const [, status = "200"] = /^\/status\/(\d+)/.exec(one.url) ?? [];
    const [, code, where] = /^\/redirect\/(\d+)\/(\w+)/.exec(one.url) ?? [];
    // A redirect repeats in its target what it was sent.
    const sent = encodeURIComponent(`${one.url} ${String(request.headers["x-key"] ?? "")} ${one.body}`);
    const location = `${where === "away" ? this.#elsewhere : ""}/${where === "nowhere" ? "status/404/" : "echo/"}${sent}`;
    if (code) return void response.writeHead(Number(code), { location }).end(`moved: ${JSON.stringify(one)}`);
    const { accept: _, connection: __, ...headers } = one.headers;
    const said = [decodeURIComponent(one.url), one.body, ...Object.values(headers)].join(" ");
    const again = { ...one, ...repeated(said), said: Buffer.from(said).toString() };
    const isMcp = one.method === "POST" && one.body.includes('"jsonrpc"') && !one.url.startsWith("/status");
    response.writeHead(Number(status), {
      "content-type": "application/json",
      "x-again": encodeURIComponent(said).slice(0, 4_000),
    });
    response.end(JSON.stringify(isMcp ? this.#result(JSON.parse(one.body), JSON.stringify(again)) : again));
  }

  #result({ id, method }: Data, said: string): object {
    const tool = { name: "look", description: `Looks. ${said}`, inputSchema: { type: "object" } };
    const result = method === "tools/list" ? { tools: [tool] } : { content: [{ type: "text", text: said }] };
    return { jsonrpc: "2.0", id, result };
  }

  async open(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** A document of operations with a parameter in each place. */
export const apiOf = (url: string): object => {
  const at = (place: string, name: string): object => ({ name, in: place, schema: {}, required: place === "path" });
  const operation = (operationId: string, more: object = {}): object => ({ operationId, ...more });
  const bodyOf = (type: string): object => ({ requestBody: { content: { [type]: { schema: { type: "object" } } } } });
  const parameters = [at("path", "id"), at("query", "key"), at("header", "X-Key"), at("cookie", "session")];
  return {
    openapi: "3.1.0",
    servers: [{ url: `${url}/{base}`, variables: { base: { default: "api" } } }],
    paths: {
      "/things/{id}": { parameters, post: operation("change", bodyOf("application/json")) },
      "/form": { post: operation("send", bodyOf("application/x-www-form-urlencoded")) },
      "/text": { post: operation("say", bodyOf("text/plain")) },
    },
  };
};
