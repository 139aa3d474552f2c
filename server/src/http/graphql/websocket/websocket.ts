/** graphql-transport-ws on the path of POST /graphql. */
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { GraphQLError, type ExecutionArgs, type ExecutionResult } from "graphql";
import { CloseCode, handleProtocols, makeServer, type Context } from "graphql-ws";
import { WebSocketServer, type WebSocket } from "ws";
import type { Caller } from "../../../auth/caller.ts";
import type { Origin } from "../../../graphql/context/context.ts";
import type { Answer, Asking, Graphql, Refused, Result } from "../../../graphql/graphql.ts";
import type { Clock } from "../../../lib/clock.ts";
import { Ending } from "../../../lib/ending.ts";
import { messageOf, Refusal, stopping } from "../../../lib/errors.ts";
import { isObject, parseJson, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { LIMITS } from "../../../lib/limits.ts";
import type { Log } from "../../../lib/log/log.ts";
import type { Admission } from "../../admission/admission.ts";
import { noRoom, type Arrivals } from "../../connections/arrivals.ts";
import { clientGone, lineOf, strangersLine, type Connections } from "../../connections/connections.ts";
import type { Delivery } from "../../write-pieces.ts";
import type { Entrance, Whose } from "../../connections/entrance.ts";
import { graphqlBody, isHashAlone } from "../graphql-request.ts";
import type { HeldBack, Readable } from "../../connections/held-back.ts";
import type { Upgrade } from "../../write-response.ts";
import { Outgoing } from "./outgoing.ts";
import { Pings } from "../pings.ts";
import { refuseHandshake } from "../../raw-response.ts";
import { hasUrgentWord } from "../../connections/urgent.ts";
import type { SecurityHeaders } from "../../security-headers.ts";
import { Unanswered, type Held } from "./unanswered.ts";
import { holdUnfinished } from "./unfinished.ts";

export type WebSockets = {
  /** How many are open. */
  readonly open: number;
  /** Prepares for the end of the process: closes sockets with subscriptions alone, and others when their operations are answered. */
  leave(): void;
  accept(upgrade: Upgrade, socket: Duplex, head: Buffer, from: Pick<Origin, "address" | "userAgent">): void;
} & AsyncDisposable;

type WebSocketsOptions = {
  graphql: Graphql;
  admission: Admission;
  delivery: Delivery;
  log: Log;
  clock: Clock;
  arrivals: Arrivals;
  secure: SecurityHeaders;
  entrance: Entrance;
  connections: Connections;
  heldBack: HeldBack;
};

type Operation = { ending: Ending; isStream: boolean };

type Extra = {
  socket: WebSocket;
  /** Its connection. The request itself, with 16 kB of headers, is not kept. */
  stream: Socket;
  /** Itself, to be held back. */
  readable: Readable;
  /** The header, until `connection_init`. */
  authorization?: string | undefined;
  requestId: string;
  address: string;
  userAgent?: string | undefined;
  outgoing: Outgoing;
  unanswered: Unanswered;
  /** Of the message that graphql-ws is being given; undefined when there is no room for it. */
  held: Held | undefined;
  /** Of the operations under way, by their ids, until their clients have all of their answers. */
  operations: Map<string, Operation>;
  caller?: Caller;
  watched?: Disposable;
};
type Connection = Context<Record<string, unknown>, Extra>;
/** graphql-ws passes this on to `execute` and `subscribe`; by then the answer is made. */
type Answered = ExecutionArgs & { answer: Exclude<Answer, { kind: "refused" }> };

/** Its errors have their final form already, and `onNext` sends them as they are. */
type Formatted = Result & ExecutionResult;

/**
 * Unread pieces of a message; each costs about 200 bytes in addition to its own. With the library's 16,384 pieces
 * 200 strangers held 390 MB with a message of one byte in each piece.
 */
const CHUNKS_MOST = 4_096;
const CLOSE_TIMEOUT_MS = 1_000;
const CLOSE_REASON_BYTES = 123;
const GOING_AWAY = 1001;
const TRY_AGAIN_LATER = 1013;

export function createWebSockets(options: WebSocketsOptions): WebSockets {
  const { graphql, admission, delivery, log, clock, arrivals, secure, entrance, connections, heldBack } = options;
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

  const onConnect = async (connection: Connection): Promise<boolean> => {
    const { extra, connectionParams } = connection;
    const parameter = connectionParams?.["Authorization"] ?? connectionParams?.["authorization"];
    const credential = typeof parameter === "string" ? parameter : extra.authorization;
    // graphql-ws would keep all of it as long as the connection is open.
    delete (connection as { connectionParams?: unknown }).connectionParams;
    delete extra.authorization;
    try {
      const caller = await admission.identify(extra.stream, credential, () => extra.address);
      if (!caller) return true;
      extra.caller = caller;
      extra.watched = admission.watch(caller, () => extra.socket.close(CloseCode.Forbidden, "Forbidden"));
      return true;
    } catch (error) {
      if (error instanceof Refusal && (error.code === "UNAUTHENTICATED" || error.code === "RATE_LIMITED")) {
        // With 4403 clients would try again, and the person would see nothing.
        extra.socket.close(CloseCode.Unauthorized, closeReason(error.message));
        return true;
      }
      log.warn(
        { requestId: extra.requestId, reason: messageOf(error) },
        "a WebSocket's credential could not be looked at",
      );
      extra.socket.close(TRY_AGAIN_LATER, "Try again later");
      return true;
    }
  };

  /** Called for each operation: the caller's rights may have changed since the connection began. */
  const askingOf = ({ caller }: Extra): Asking => {
    let known: Promise<Caller> | undefined;
    return { caller: () => caller && (known ??= admission.again(caller)) };
  };

  /** When it is its turn: whose line has too much, so that it may begin only if it is urgent. */
  const turnOf = ({ caller, stream, address }: Extra, query: string): Promise<Whose | undefined> => {
    const whose = (): Whose =>
      caller
        ? { line: caller.organizationId, isStranger: false }
        : { line: strangersLine(connections.of(stream), () => address), isStranger: true };
    return new Promise((resolve) =>
      entrance.enter({
        whose,
        mayBeUrgent: () => hasUrgentWord(query),
        go: resolve,
      }),
    );
  };

  const answerOf = async ({ extra, subscriptions }: Connection, id: string, payload: unknown): Promise<Answer> => {
    const operation: Operation = { ending: new Ending(), isStream: false };
    const { ending } = operation;
    const asking = askingOf(extra);
    extra.operations.set(id, operation);
    try {
      if (isLeaving) throw stopping();
      if (Object.keys(subscriptions).length > LIMITS.subscriptionsPerConnection) throw tooMany();
      const { held } = extra;
      if (!held) throw noRoom();
      const body = graphqlBody(payload as Json);
      const { requestId, address, userAgent } = extra;
      held.share();
      const tooMuchOf = await turnOf(extra, body.query);
      const answer = await graphql.answer({
        ...body,
        origin: { requestId, address, userAgent },
        canStream: true,
        ending,
        urgentOnly: tooMuchOf !== undefined,
        release: () => held.release(),
        caller: asking.caller,
      });
      operation.isStream = answer.kind === "stream";
      if (isLeaving) leave(extra);
      if (!tooMuchOf || answer.kind !== "refused" || answer.code !== "UNAVAILABLE") return answer;
      return retriedAfter(answer, heldBack.hold(tooMuchOf, extra.readable));
    } catch (error) {
      return graphql.refuse(error, asking, extra.requestId);
    }
  };

  const end = ({ extra }: Connection, id: string, reason?: Refusal): void => {
    const operation = extra.operations.get(id);
    extra.operations.delete(id);
    operation?.ending.end(reason);
    // What graphql-ws sends next is the end of the answer.
    if (isLeaving) setImmediate(() => leave(extra));
  };

  /** Once nothing of it waits for an answer. Who subscribes connects again. */
  const leave = ({ socket, operations }: Extra): void => {
    const all = [...operations.values()];
    if (!all.every(({ isStream }) => isStream)) return;
    socket.close(GOING_AWAY, "Going away");
    // A reader that takes nothing does not see the close for a while.
    for (const { ending } of all) ending.end(clientGone());
  };

  const extras = new Set<Extra>();
  let isLeaving = false;

  const shownErrors = new WeakMap<readonly GraphQLError[], Result["errors"]>();

  const server = makeServer<Record<string, unknown>, Extra>({
    connectionInitWaitTimeout: LIMITS.connectionInitSeconds * 1_000,
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
    extras.add(extra);
    const closed = server.opened(
      {
        protocol: socket.protocol,
        send: (data) => extra.outgoing.send(data),
        close: (code, reason) => socket.close(code, closeReason(reason ?? "")),
        // Its payload is not sent back.
        onPing: () => extra.outgoing.send(PONG),
        onMessage: (handle) => {
          socket.on("message", (data, isBinary) => {
            // A message that arrived with others before the connection was closed.
            if (socket.readyState !== socket.OPEN) return;
            // Messages are text: what is not UTF-8 would be changed.
            receive(extra, isBinary ? INVALID : String(data), handle).catch((error: unknown) => {
              log.error({ requestId: extra.requestId, err: error }, "a WebSocket message failed");
              socket.close(CloseCode.InternalServerError, "Internal server error");
            });
          });
        },
      },
      extra,
    );
    holdUnfinished(socket, extra.stream, arrivals, () => extra.caller);
    socket.on("error", (error) =>
      log.debug({ requestId: extra.requestId, reason: error.message }, "a WebSocket broke"),
    );
    const stopPings = pings.add(socket);
    socket.once("close", (code, reason) => {
      extras.delete(extra);
      stopPings();
      connections.leaving.call(lineOf(connections.of(extra.stream)), () => void closed(code, String(reason)));
    });
  };

  const pings = new Pings(clock, ping);
  return {
    get open() {
      return sockets.clients.size;
    },
    leave: () => {
      isLeaving = true;
      for (const extra of extras) leave(extra);
    },
    accept: ({ request, requestId }, duplex, head, from) => {
      const stream = duplex as Socket;
      const { authorization } = request.headers;
      sockets.handleUpgrade(request, stream, head, (socket) => {
        const unanswered: Unanswered = new Unanswered(arrivals, () => extra.caller);
        const outgoing = new Outgoing(socket, stream, delivery, unanswered);
        const readable = readableOf(socket);
        const own = { socket, stream, readable, authorization, outgoing, unanswered, held: undefined };
        const extra: Extra = { ...own, operations: new Map(), requestId, ...from };
        open(socket, extra);
      });
    },
    async [Symbol.asyncDispose]() {
      pings[Symbol.dispose]();
      await closeAll(sockets);
    },
  };
}

const tooMany = (): Refusal =>
  new Refusal("BAD_REQUEST", `a connection has at most ${LIMITS.subscriptionsPerConnection} operations at a time`);

/** `seconds`: when it is read again. */
function retriedAfter({ result, ...answer }: Refused, seconds: number): Refused {
  const errors = result.errors!.map((error) => ({
    ...error,
    extensions: { ...error.extensions, retryAfter: seconds },
  }));
  return { ...answer, result: { ...result, errors } };
}

const PONG = '{"type":"pong"}';
const INVALID = "";
/** graphql-ws takes those that only servers send for its own mistake. */
const FROM_CLIENTS: readonly unknown[] = ["connection_init", "ping", "pong", "subscribe", "complete"];

type Handle = (text: string) => Promise<void>;

/** graphql-ws also takes a parsed message, although its type says text, so a large message is not parsed twice. */
const parsed = (message: object): string => message as unknown as string;

/** Applies the rules of the one JSON entrance, and limits what graphql-ws keeps. */
function receive(extra: Extra, text: string, handle: Handle): Promise<void> {
  let message: Json;
  try {
    message = parseJson(text, "the message");
  } catch {
    return handle(INVALID);
  }
  if (!isObject(message) || !FROM_CLIENTS.includes(message["type"])) return handle(INVALID);
  const reason = tooLong(message, text);
  if (reason !== undefined) {
    extra.socket.close(CloseCode.BadRequest, reason);
    return Promise.resolve();
  }
  const { payload } = message;
  // graphql-ws would close the connection of a client that only sent the hash of a query.
  if (isObject(payload) && isHashAlone(payload)) payload["query"] = "";
  const held = extra.unanswered.hold(text);
  const { type, id } = message;
  // Messages that open a connection or end an operation must come through, and are short.
  if (!held && type !== "subscribe") return handle(type === "connection_init" ? text : JSON.stringify({ type, id }));
  // Without room it is answered with UNAVAILABLE. graphql-ws asks for the answer before it returns.
  extra.held = held;
  const handled = handle(parsed(held ? message : { type, id: id ?? null, payload: { query: "" } }));
  extra.held = undefined;
  return held ? handled.finally(() => held.release()) : handled;
}

function tooLong({ type, id }: JsonObject, text: string): string | undefined {
  if (type === "connection_init" && text.length > LIMITS.connectionInitCharacters)
    return `connection_init has more than ${LIMITS.connectionInitCharacters} characters`;
  if (typeof id === "string" && id.length > LIMITS.operationIdCharacters)
    return `the id has more than ${LIMITS.operationIdCharacters} characters`;
  return undefined;
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

/** A close frame has room for 123 bytes. */
function closeReason(text: string): string {
  let reason = text.slice(0, CLOSE_REASON_BYTES);
  while (Buffer.byteLength(reason) > CLOSE_REASON_BYTES) reason = reason.slice(0, -1);
  return reason;
}

async function closeAll(sockets: WebSocketServer): Promise<void> {
  const closed = [...sockets.clients].map((socket) => new Promise((resolve) => socket.once("close", resolve)));
  for (const socket of sockets.clients) socket.close(GOING_AWAY, "Going away");
  await Promise.race([Promise.all(closed), new Promise((resolve) => setTimeout(resolve, CLOSE_TIMEOUT_MS))]);
  for (const socket of sockets.clients) socket.terminate();
  sockets.close();
}
