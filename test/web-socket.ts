/** graphql-transport-ws message by message: what a client library would not send, and the code it is closed with. */
import { once } from "node:events";
import { WebSocket, type ClientOptions } from "ws";
import { eventually, type Data, type TestServer } from "./client.ts";

export type Closed = { code: number; reason: string };
export type Talk = {
  socket: WebSocket;
  /** The messages received, parsed. */
  messages: Data[];
  closed: Promise<Closed>;
  /** Text goes as it is, an object as JSON. */
  send(message: object | string): void;
  /** The first message of this type. */
  next(type: string): Promise<Data>;
} & Disposable;

type Options = ClientOptions & { protocol?: string | undefined };

/** A connection that is open, and has said nothing yet. */
export async function talk(
  server: Pick<TestServer, "url">,
  { protocol = "graphql-transport-ws", ...options }: Options = {},
): Promise<Talk> {
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/graphql`, protocol, options);
  const messages: Data[] = [];
  socket.on("message", (data) => messages.push(JSON.parse(String(data))));
  socket.on("error", () => {});
  const closed = new Promise<Closed>((resolve) =>
    socket.once("close", (code, reason) => resolve({ code, reason: String(reason) })),
  );
  await once(socket, "open");
  return {
    socket,
    messages,
    closed,
    send: (message) => socket.send(typeof message === "string" ? message : JSON.stringify(message)),
    next: (type) => eventually(() => messages.find((message) => message.type === type)),
    [Symbol.dispose]: () => socket.terminate(),
  };
}

/** One that is acknowledged, of whom the token is; null: a stranger's. */
export async function acknowledged(server: Pick<TestServer, "url">, token: string | null): Promise<Talk> {
  const opened = await talk(server);
  opened.send({ type: "connection_init", payload: token === null ? {} : { Authorization: `Bearer ${token}` } });
  await opened.next("connection_ack");
  return opened;
}

/** The upgrade request by hand. */
export const upgrade = (headers: Record<string, string> = {}): string =>
  [
    "GET /graphql HTTP/1.1",
    ...Object.entries({
      host: "localhost",
      connection: "upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      "sec-websocket-protocol": "graphql-transport-ws",
      ...headers,
    }).map(([name, value]) => `${name}: ${value}`),
    "\r\n",
  ].join("\r\n");

/** The code and reason of the close frame at the end of what a server sent, as latin1. */
export function closeFrameIn(got: string): Closed | undefined {
  const bytes = Buffer.from(got, "latin1");
  const start = bytes.lastIndexOf(0x88);
  if (start < 0 || bytes.length < start + 4) return undefined;
  return {
    code: bytes.readUInt16BE(start + 2),
    reason: bytes.subarray(start + 4, start + 2 + bytes[start + 1]!).toString(),
  };
}
