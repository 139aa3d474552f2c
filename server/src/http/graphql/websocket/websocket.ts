/** graphql-transport-ws on the path of POST /graphql. */
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { CloseCode, handleProtocols, type Server } from "graphql-ws";
import { WebSocketServer, type WebSocket } from "ws";
import type { Origin } from "../../../graphql/context/context.ts";
import type { Clock } from "../../../lib/clock.ts";
import { LIMITS } from "../../../lib/limits.ts";
import type { Log } from "../../../lib/log/log.ts";
import type { Arrivals } from "../../connections/arrivals.ts";
import type { Readable } from "../../connections/held-back.ts";
import { refuseHandshake } from "../../raw-response.ts";
import type { SecurityHeaders } from "../../security-headers.ts";
import type { PieceWriter } from "../../write-pieces.ts";
import type { Upgrade } from "../../write-response.ts";
import { Pings } from "../pings.ts";
import { closeReason, GOING_AWAY, type Extra, type WebSocketParts } from "./connection.ts";
import { leaveIfIdle } from "./operations.ts";
import { Outgoing } from "./outgoing.ts";
import { createProtocol } from "./protocol.ts";
import { receive } from "./receive.ts";
import { Unanswered } from "./unanswered.ts";
import { holdUnfinished } from "./unfinished.ts";

export type WebSockets = {
  /** How many are open. */
  readonly open: number;
  /** Prepares for the end of the process: closes sockets with subscriptions alone, and others when their operations are answered. */
  leave(): void;
  accept(upgrade: Upgrade, socket: Duplex, head: Buffer, from: Pick<Origin, "address" | "userAgent">): void;
} & AsyncDisposable;

type WebSocketsOptions = Omit<WebSocketParts, "isLeaving"> & {
  writer: PieceWriter;
  clock: Clock;
  arrivals: Arrivals;
  secure: SecurityHeaders;
};

/**
 * Unread pieces of a message; each costs about 200 bytes in addition to its own. With the library's 16,384 pieces
 * 200 strangers held 390 MB with a message of one byte in each piece.
 */
const CHUNKS_MOST = 4_096;
const CLOSE_TIMEOUT_MS = 1_000;

export function createWebSockets(options: WebSocketsOptions): WebSockets {
  const { writer, arrivals, connections, secure, log } = options;
  const sockets = createServer(secure);
  const parts: WebSocketParts = { ...options, isLeaving: false };
  const protocol = createProtocol(parts);
  const pings = new Pings(options.clock, ping);
  const extras = new Set<Extra>();

  const open = (extra: Extra): void => {
    const { socket, stream } = extra;
    extras.add(extra);
    const closed = openProtocol(protocol, extra, log);
    holdUnfinished(socket, stream, arrivals, () => extra.caller);
    const stopPings = pings.add(socket);
    socket.once("close", (code, reason) => {
      extras.delete(extra);
      stopPings();
      connections.endInTurn(stream, () => void closed(code, String(reason)));
    });
  };

  return {
    get open() {
      return sockets.clients.size;
    },
    leave: () => {
      parts.isLeaving = true;
      for (const extra of extras) leaveIfIdle(extra);
    },
    accept: ({ request, requestId }, duplex, head, from) => {
      const stream = duplex as Socket;
      const { authorization } = request.headers;
      sockets.handleUpgrade(request, stream, head, (socket) => {
        const unanswered: Unanswered = new Unanswered(arrivals, () => extra.caller);
        const outgoing = new Outgoing(socket, stream, writer, unanswered);
        const readable = readableOf(socket);
        const own = { socket, stream, readable, authorization, outgoing, unanswered, held: undefined };
        const extra: Extra = { ...own, operations: new Map(), requestId, ...from };
        open(extra);
      });
    },
    async [Symbol.asyncDispose]() {
      pings[Symbol.dispose]();
      await closeAll(sockets);
    },
  };
}

function createServer(secure: SecurityHeaders): WebSocketServer {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: LIMITS.bodyBytes,
    maxFragments: LIMITS.fragmentsPerMessage,
    maxBufferedChunks: CHUNKS_MOST,
    perMessageDeflate: false,
    // One message or ping of each connection in a turn of the event loop: 20 strangers with 5,000 operations each in one
    // go held the thread for more than the 10 s after which the watchdog ends the process.
    allowSynchronousEvents: false,
    handleProtocols,
  });
  sockets.on("headers", (lines: string[]) => lines.push(...secure.lines.trimEnd().split("\r\n")));
  sockets.on("wsClientError", (_error, stream: Duplex, request) => refuseHandshake(request, stream, secure));
  return sockets;
}

const PONG = '{"type":"pong"}';

/** Gives a connection to graphql-ws. Returns what to call when it is closed. */
function openProtocol(protocol: Server<Extra>, extra: Extra, log: Log): ReturnType<Server<Extra>["opened"]> {
  const { socket, requestId, outgoing } = extra;
  const closed = protocol.opened(
    {
      protocol: socket.protocol,
      send: (data) => outgoing.send(data),
      close: (code, reason) => socket.close(code, closeReason(reason ?? "")),
      // Its payload is not sent back.
      onPing: () => outgoing.send(PONG),
      onMessage: (handle) => {
        socket.on("message", (data, isBinary) => {
          // A message that arrived with others before the connection was closed.
          if (socket.readyState !== socket.OPEN) return;
          receive(extra, isBinary ? undefined : String(data), handle).catch((error: unknown) => {
            log.error({ requestId, err: error }, "a WebSocket message failed");
            socket.close(CloseCode.InternalServerError, "Internal server error");
          });
        });
      },
    },
    extra,
  );
  socket.on("error", (error) => log.debug({ requestId, reason: error.message }, "a WebSocket broke"));
  return closed;
}

const pinged = new WeakSet<WebSocket>();

/** While it is held back no answer of its client is read. */
const readableOf = (socket: WebSocket): Readable => ({
  pause: () => socket.pause(),
  resume: () => {
    pinged.delete(socket);
    socket.resume();
  },
  get destroyed() {
    return socket.readyState === socket.CLOSED;
  },
});

/** A client that did not answer the last ping is gone. */
function ping(socket: WebSocket): void {
  if (socket.isPaused) return;
  if (pinged.has(socket)) return socket.terminate();
  pinged.add(socket);
  socket.once("pong", () => pinged.delete(socket));
  socket.ping();
}

async function closeAll(sockets: WebSocketServer): Promise<void> {
  const closed = [...sockets.clients].map((socket) => new Promise((resolve) => socket.once("close", resolve)));
  for (const socket of sockets.clients) socket.close(GOING_AWAY, "Going away");
  await Promise.race([Promise.all(closed), new Promise((resolve) => setTimeout(resolve, CLOSE_TIMEOUT_MS))]);
  for (const socket of sockets.clients) socket.terminate();
  sockets.close();
}
