/** MCP servers for `call: mcp`, on loopback: the official ones of both generations. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { McpServer as OlderServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createMcpHandler, type McpServer } from "@modelcontextprotocol/server";
import { shop } from "./mcp-shop.ts";

/** `asked`: the HTTP requests, in order. */
export type Served = {
  url: string;
  asked: { method: string; headers: IncomingMessage["headers"]; body: string }[];
} & AsyncDisposable;

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => Promise<void>;

async function serve(answer: Answer): Promise<Served> {
  const asked: Served["asked"] = [];
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    asked.push({ method: request.method!, headers: request.headers, body });
    await answer(request, response, body);
  };
  const server = createServer((request, response) => void respond(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    asked,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** The official server of 2026-07-28. `legacy`: whether it also answers clients that begin with `initialize`. */
export async function startStateless(
  legacy: "stateless" | "reject" = "reject",
  create: () => McpServer = shop,
): Promise<Served> {
  const handler = createMcpHandler(create, { legacy });
  return serve(async (request, response, body) => {
    const headers = new Headers(Object.entries(request.headers as Record<string, string>));
    const url = `http://${request.headers.host}${request.url}`;
    const answer = await handler.fetch(new Request(url, { method: request.method!, headers, ...(body && { body }) }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(Buffer.from(await answer.arrayBuffer()));
  });
}

/** Has no types. */
const EVERYTHING: string = "@modelcontextprotocol/server-everything/dist/server/index.js";

/** The everything-server of the official SDK's first generation: sessions, and answers in streams. */
export async function startEverything(): Promise<Served> {
  const { createServer: create } = (await import(EVERYTHING)) as { createServer(): { server: OlderServer } };
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  return serve(async (request, response, body) => {
    const id = request.headers["mcp-session-id"];
    let transport = typeof id === "string" ? sessions.get(id) : undefined;
    if (!transport) {
      const opened = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (session) => void sessions.set(session, opened),
        onsessionclosed: (session) => void sessions.delete(session),
      });
      await create().server.connect(opened);
      transport = opened;
    }
    await transport.handleRequest(request, response, body === "" ? undefined : JSON.parse(body));
  });
}
