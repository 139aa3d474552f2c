/** Real servers on loopback for this room's tests, and calls with a secret planted wherever one may be. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { createServer as createRawServer, type AddressInfo, type Server, type Socket } from "node:net";
import { expect, vi } from "vitest";
import { newId } from "../lib/ids.ts";
import { OutboundError } from "./errors.ts";
import { createOutbound, type Outbound, type OutboundOptions, type OutboundRequest } from "./outbound.ts";

export const ORGANIZATION = newId<"organization">();
export const SECRET = "s3cret-Planted";
export const LOOPBACK = ["127.0.0.1/32"];

/** Tries until `check` passes. A deadline for what hangs: by itself vitest gives up after a second. */
export const waitFor = (check: () => unknown): Promise<unknown> => vi.waitFor(check, 60_000);

export type Loopback = { url: string; port: number; connections: Socket[]; open(): number } & AsyncDisposable;

export const serve = (listener: RequestListener, host?: string, port?: number): Promise<Loopback> =>
  listen(createServer(listener), host, port);

/** Answers each connection's first bytes with `speak`. */
export const serveRaw = (speak: (socket: Socket) => void): Promise<Loopback> =>
  listen(createRawServer((socket) => socket.on("error", () => {}).once("data", () => speak(socket))));

export async function listen(server: Server, host = "127.0.0.1", port = 0): Promise<Loopback> {
  const connections: Socket[] = [];
  server.on("connection", (socket: Socket) => connections.push(socket));
  server.listen(port, host);
  await once(server, "listening");
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${bound}`,
    port: bound,
    connections,
    open: () => connections.filter((socket) => !socket.destroyed).length,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      for (const socket of connections) socket.destroy();
      await closed;
    },
  };
}

export const outboundTo = (allow: string[], options: Partial<OutboundOptions> = {}): Outbound & AsyncDisposable =>
  createOutbound({ allow, ...options });

export const get = (url: string, more: Partial<OutboundRequest> = {}): OutboundRequest => ({
  organizationId: ORGANIZATION,
  method: "GET",
  url,
  headers: { authorization: `Bearer ${SECRET}`, "x-api-key": SECRET },
  redirect: false,
  signal: new AbortController().signal,
  // Not what a test waits for, also on a busy machine.
  timeoutMs: 60_000,
  ...more,
});

/** The error that the call ends with; fails if it is not an OutboundError or reveals the secret. */
export async function failureOf(call: Promise<unknown>): Promise<OutboundError> {
  const error: unknown = await call.then(
    () => "no error",
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(OutboundError);
  expect(`${(error as OutboundError).stack} ${JSON.stringify(error)}`).not.toContain(SECRET);
  return error as OutboundError;
}

export const textOf = (body: Uint8Array): string => new TextDecoder().decode(body);
