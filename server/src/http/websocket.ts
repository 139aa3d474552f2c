/** graphql-transport-ws on the path of POST /graphql. */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { GraphQLError, type ExecutionArgs, type ExecutionResult } from "graphql";
import { CloseCode, handleProtocols, makeServer, type Context } from "graphql-ws";
import { WebSocketServer, type WebSocket } from "ws";
import { authenticate } from "../auth/authenticate.ts";
import type { Auth } from "../auth/auth.ts";
import type { Caller } from "../auth/caller.ts";
import { weighed } from "../definition/expressions/weigh.ts";
import type { Answer, Graphql, Result } from "../graphql/graphql.ts";
import { Ending } from "../lib/ending.ts";
import { messageOf, Refusal } from "../lib/errors.ts";
import { parseJson, type Json } from "../lib/json.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Log } from "../lib/log.ts";
import { noRoom, SMALL_BYTES, type Arrival, type Arrivals } from "./arrivals.ts";
import { clientGone, type Connections } from "./connections.ts";
import type { CredentialWatch } from "./credential-watch.ts";
import type { Delivery } from "./delivery.ts";
import { graphqlBody } from "./graphql-request.ts";
import { Outgoing } from "./outgoing.ts";
import { holdUnfinished } from "./unfinished.ts";

export type WebSockets = {
  accept(request: IncomingMessage, socket: Duplex, head: Buffer, origin: { requestId: string; address: string }): void;
} & AsyncDisposable;

export type WebSocketsOptions = {
  graphql: Graphql;
  auth: Auth;
  credentials: CredentialWatch;
  delivery: Delivery;
  log: Log;
  arrivals: Arrivals;
  connections: Connections;
};

/** `held`: what it came with, where that is much, as long as either graphql-ws keeps it or it runs. */
type Operation = { ending: Ending; held?: Arrival | undefined; holders: number };

function release(operation: Operation): void {
  if (--operation.holders === 0) operation.held?.end();
}

type Extra = {
  socket: WebSocket;
  request: IncomingMessage;
  requestId: string;
  address: string;
  outgoing: Outgoing;
  /** Of the operations under way, by their ids, until their clients have all of their answers. */
  operations: Map<string, Operation>;
  caller?: Caller;
  watched?: Disposable;
};
type Connection = Context<Record<string, unknown>, Extra>;
/** graphql-ws hands this through to what it calls `execute` and `subscribe`: the answer is made already. */
type Answered = ExecutionArgs & { answer: Exclude<Answer, { kind: "refused" }> };

/** Errors are shown as they shall be already; `onNext` sends them so. */
type Formatted = Result & ExecutionResult;

const PING_EVERY_MS = 15_000;
const INIT_TIMEOUT_MS = 10_000;
/**
 * What arrived of a message unread; a piece of one costs about 200 bytes beside its own. With the library's 16,384 pieces
 * 200 strangers held 390 MB with a message of one byte in each piece.
 */
const CHUNKS_MOST = 4_096;
const CLOSE_TIMEOUT_MS = 1_000;
const GOING_AWAY = 1001;
const TRY_AGAIN_LATER = 1013;

export function createWebSockets(options: WebSocketsOptions): WebSockets {
  const { graphql, auth, credentials, delivery, log, arrivals, connections } = options;
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: LIMITS.bodyBytes,
    maxFragments: LIMITS.fragmentsPerMessage,
    maxBufferedChunks: CHUNKS_MOST,
    perMessageDeflate: false,
    handleProtocols,
  });

  const onConnect = async (connection: Connection): Promise<boolean> => {
    const { extra, connectionParams } = connection;
    const parameter = connectionParams?.["Authorization"] ?? connectionParams?.["authorization"];
    try {
      const caller = await authenticate(
        auth,
        typeof parameter === "string" ? parameter : extra.request.headers.authorization,
      );
      if (!caller) return true;
      connections.belongsTo(extra.request.socket, caller.organizationId);
      extra.caller = caller;
      extra.watched = credentials.watch(caller, () => extra.socket.close(CloseCode.Forbidden, "Forbidden"));
      return true;
    } catch (error) {
      if (error instanceof Refusal && error.code === "UNAUTHENTICATED") return false;
      log.warn(
        { requestId: extra.requestId, reason: messageOf(error) },
        "a WebSocket's credential could not be looked at",
      );
      extra.socket.close(TRY_AGAIN_LATER, "Try again later");
      return true;
    }
  };

  /** Throws UNAVAILABLE when there is no room for it. */
  const hold = (payload: Json, caller: Caller | undefined): Arrival | undefined => {
    const { heldBytes } = weighed(payload, 2 * LIMITS.bodyBytes, LIMITS.jsonNesting);
    if (heldBytes <= SMALL_BYTES) return undefined;
    const arrival = arrivals.begin(() => {});
    arrival.whole();
    if (caller) arrival.belongsTo(caller.organizationId);
    if (!arrival.hold(heldBytes)) throw noRoom();
    return arrival;
  };

  const answerOf = async ({ extra, subscriptions }: Connection, id: string, payload: unknown): Promise<Answer> => {
    const ending = new Ending();
    const operation: Operation = { ending, holders: 2 };
    extra.operations.set(id, operation);
    try {
      if (Object.keys(subscriptions).length > LIMITS.subscriptionsPerConnection) throw tooMany();
      operation.held = hold(payload as Json, extra.caller);
      const origin = { requestId: extra.requestId, address: extra.address };
      return await graphql.answer({
        ...graphqlBody(payload as Json),
        origin,
        canStream: true,
        ending,
        release: () => release(operation),
        caller: () => extra.caller,
      });
    } catch (error) {
      release(operation);
      return graphql.refused(error, extra.requestId);
    }
  };

  const end = ({ extra }: Connection, id: string, reason?: Refusal): void => {
    const operation = extra.operations.get(id);
    if (!operation) return;
    extra.operations.delete(id);
    operation.ending.end(reason);
    release(operation);
  };

  const shownErrors = new WeakMap<readonly GraphQLError[], Result["errors"]>();

  const server = makeServer<Record<string, unknown>, Extra>({
    connectionInitWaitTimeout: INIT_TIMEOUT_MS,
    onConnect,
    onClose: (connection) => {
      const { watched, operations } = connection.extra;
      watched?.[Symbol.dispose]();
      for (const id of operations.keys()) end(connection, id, clientGone());
    },
    onSubscribe: async (connection, id, payload) => {
      const answer = await answerOf(connection, id, payload);
      if (answer.kind !== "refused") {
        const { document, name } = answer.operation;
        return { schema: graphql.schema, document, operationName: name ?? null, contextValue: {}, answer } as Answered;
      }
      end(connection, id);
      const errors = answer.result.errors!.map(({ message }) => new GraphQLError(message));
      shownErrors.set(errors, answer.result.errors);
      return errors;
    },
    onComplete: (connection, id) => end(connection, id),
    onError: (_connection, _id, _payload, errors) => shownErrors.get(errors),
    onNext: ({ extra }, _id, _payload, args, result) =>
      extra.outgoing.hold(result as unknown as Result, (args as Answered).answer.size),
    execute: (args) => ((args as Answered).answer as Answer & { kind: "result" }).result as Formatted,
    subscribe: (args) => {
      const { answer } = args as Answered;
      return (answer.kind === "stream" ? answer.results : answer.result) as Formatted;
    },
  });

  const open = (socket: WebSocket, extra: Extra): void => {
    const closed = server.opened(
      {
        protocol: socket.protocol,
        send: (data) => extra.outgoing.send(data),
        close: (code, reason) => socket.close(code, reason),
        onMessage: (handle) => {
          socket.on("message", (data) => {
            receive(String(data), handle).catch((error: unknown) => {
              log.error({ requestId: extra.requestId, err: error }, "a WebSocket message failed");
              socket.close(CloseCode.InternalServerError, "Internal server error");
            });
          });
        },
      },
      extra,
    );
    holdUnfinished(socket, extra.request.socket, arrivals, () => extra.caller);
    socket.on("error", (error) =>
      log.debug({ requestId: extra.requestId, reason: error.message }, "a WebSocket broke"),
    );
    socket.once("close", (code, reason) => void closed(code, String(reason)));
  };

  const pings = setInterval(() => pingAll(sockets.clients), PING_EVERY_MS).unref();
  return {
    accept: (request, socket, head, origin) =>
      sockets.handleUpgrade(request, socket, head, (webSocket) =>
        open(webSocket, {
          socket: webSocket,
          request,
          outgoing: new Outgoing(webSocket, socket as Socket, delivery),
          operations: new Map(),
          ...origin,
        }),
      ),
    async [Symbol.asyncDispose]() {
      clearInterval(pings);
      await closeAll(sockets);
    },
  };
}

const tooMany = (): Refusal =>
  new Refusal("BAD_REQUEST", `a connection has at most ${LIMITS.subscriptionsPerConnection} operations at a time`);

/** graphql-ws parses the text again: this keeps the one JSON entrance's rules. */
async function receive(text: string, handle: (text: string) => Promise<void>): Promise<void> {
  try {
    parseJson(text, "the message");
  } catch {
    return handle("");
  }
  await handle(text);
}

const unanswered = new WeakSet<WebSocket>();

/** Who did not answer the last ping is gone. */
function pingAll(clients: Iterable<WebSocket>): void {
  for (const socket of clients) {
    if (unanswered.has(socket)) {
      socket.terminate();
      continue;
    }
    unanswered.add(socket);
    socket.once("pong", () => unanswered.delete(socket));
    socket.ping();
  }
}

async function closeAll(sockets: WebSocketServer): Promise<void> {
  const closed = [...sockets.clients].map((socket) => new Promise((resolve) => socket.once("close", resolve)));
  for (const socket of sockets.clients) socket.close(GOING_AWAY, "Going away");
  await Promise.race([Promise.all(closed), new Promise((resolve) => setTimeout(resolve, CLOSE_TIMEOUT_MS))]);
  for (const socket of sockets.clients) socket.terminate();
  sockets.close();
}
