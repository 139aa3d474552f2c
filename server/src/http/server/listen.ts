/**
 * The one node:http server. It listens before anything else is open, so that a port in use is noticed at once. Health is
 * answered from then on, everything else once `serve` has been called.
 */
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { Backlog } from "../../fairness/backlog.ts";
import { OperatorError } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import { addressesOf, hostProblems, type HostProblem } from "../addresses.ts";
import { createServer } from "../node-http.ts";
import { sendError, sendJson, type Exchange, type Upgrade } from "../write-response.ts";
import { isTooLong } from "../connections/read-body.ts";
import { limitConnections, type Connections } from "../connections/connections.ts";
import { countAnswer, createHttpFigures, type HttpFigures } from "../count-responses.ts";
import { Entrance, type Entrant, type Line } from "../connections/entrance.ts";
import { headProblem, type HeadProblem } from "./head-problem.ts";
import { ignoreRest } from "../connections/parser.ts";
import { limitChunks } from "../connections/limit-chunks.ts";
import { mayBegin } from "../connections/pipelined.ts";
import { refuseUnreadable, refuseUpgrade } from "../raw-response.ts";
import { pathOf, requestIds } from "../request.ts";
import { mayBeUrgent } from "../connections/urgent.ts";
import { securityHeaders } from "../security-headers.ts";

export type Edge = {
  /** Never throws. `tooMuchOf`: the server is overloaded by this line, and only what is urgent may begin. */
  handle(exchange: Exchange, tooMuchOf: Line | undefined): void;
  upgrade(upgrade: Upgrade, socket: Duplex, head: Buffer): void;
  /** The line in which a request waits. */
  lineOf(exchange: Exchange): Line;
  backlog: Backlog;
  /** Whether runs are accepted and no loop of the service is late; otherwise names those that are. */
  isReady(): Promise<Readiness>;
};

export type Readiness = { isReady: boolean; late: readonly string[] };

type ListenOptions = {
  host: string;
  port: number;
  publicUrl: string | undefined;
  trustedProxies: readonly string[];
};

export type Listener = {
  /** How clients reach the server; without a slash at the end. */
  url: string;
  /** Where it listens, whatever the public URL. */
  localUrl: string;
  connections: Connections;
  figures: HttpFigures;
  entrance: Entrance;
  serve(edge: Edge): void;
} & AsyncDisposable;

const OTHER_HOST = "this server has another host name: its operator sets it with PUBLIC_URL";
const TIMEOUTS_CHECKED_EVERY_MS = 5_000;
/** More than the 60 s for which proxies keep a connection, so that they close it and not the server. */
const KEEP_ALIVE_MS = 65_000;
const CLOSE_TIMEOUT_MS = 1_000;

const SERVER: ServerOptions = {
  headersTimeout: LIMITS.headersSeconds * 1_000,
  requestTimeout: LIMITS.requestArrivalSeconds * 1_000,
  connectionsCheckingInterval: TIMEOUTS_CHECKED_EVERY_MS,
  keepAliveTimeout: KEEP_ALIVE_MS,
  maxHeaderSize: LIMITS.headerBytes,
  // Node would answer without a Host itself, and past what bounds requests that come together: 20 connections with
  // 50,000 each held the thread for 2 s.
  requireHostHeader: false,
  // A request that asks for HTTP/2 beside (Java's client, `curl --http2`) is answered in HTTP/1.1 (RFC 9110, 7.8).
  shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
};
const NOTHING = { waiting: 0, ms: 0 };

/** Throws OperatorError when it cannot listen there. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const prefix = options.publicUrl === undefined ? "" : new URL(options.publicUrl).pathname.replace(/\/$/, "");
  const hostProblem = hostProblems(options.publicUrl, OTHER_HOST);
  const secure = securityHeaders(options.publicUrl);
  const nextId = requestIds();
  const figures = createHttpFigures();
  let edge: Edge | undefined;
  const entrance = new Entrance({ now: () => performance.now(), backlog: backlogOf(() => edge) });

  // One function for all: a closure of each request, held by what Node keeps of it, lives until the next major collection.
  function closed(this: ServerResponse): void {
    countAnswer(figures, this, prefix);
  }
  function answered(this: ServerResponse): void {
    countAnswer(figures, this, prefix);
    connections.answered(this.req.socket);
  }

  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    const path = pathOf(request.url ?? "/", prefix);
    const exchange: Exchange = { request, response, requestId: nextId(request), path, secure, standing: undefined };
    const problem = headProblem(request);
    const isPipelined = !problem && !mayBegin(socket);
    const begins = !problem && !isPipelined && connections.begin(socket);
    response.on("close", begins ? answered : closed);
    if (problem) return refuseHead(exchange, problem);
    if (request.headers["transfer-encoding"] !== undefined) limitChunks(exchange);
    if (isPipelined) ignoreRest(socket);
    if (!begins) return refusePipelined(exchange);
    entrance.enter(new HttpEntrant(exchange, admittance));
  };

  const admittance: Admittance = {
    lineOf: (exchange) =>
      edge?.lineOf(exchange) ?? { name: connections.of(exchange.request.socket).address, isStranger: true },
    begin: (exchange, tooMuchOf) => begin(edge, hostProblem, exchange, tooMuchOf),
  };

  const server = serverOf(onRequest);
  const connections = limitConnections(server, { isProxy: addressesOf(options.trustedProxies) });
  server.on("upgrade", (request, socket, head) => {
    const upgrade = { request, requestId: nextId(request), path: pathOf(request.url ?? "/", prefix), secure };
    beginUpgrade(edge, hostProblem, upgrade, socket, head);
  });
  server.on("clientError", (error, socket) => refuseUnreadable(error, socket, secure));
  const localUrl = await open(server, options, "PORT");
  return {
    url: options.publicUrl ?? localUrl,
    localUrl,
    connections,
    figures,
    entrance,
    serve: (served) => (edge = served),
    [Symbol.asyncDispose]: () => close(server),
  };
}

type CheckHost = (host: string | undefined) => HostProblem | undefined;
type OnRequest = (request: IncomingMessage, response: ServerResponse) => void;

function serverOf(onRequest: OnRequest): Server {
  const server = createServer(SERVER);
  // Node drops further ones silently: 900 in 10 kB took 100 kB as long as their request was under way.
  server.maxHeadersCount = LIMITS.headersPerRequest;
  server.on("request", onRequest);
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    if (!isTooLong(request)) response.writeContinue();
    onRequest(request, response);
  });
  // Without a listener Node refuses these in the same way; nobody has to know what is expected (RFC 9110, 10.1.1).
  server.on("checkExpectation", onRequest);
  return server;
}

/** The edge's, once there is one. */
const backlogOf = (edge: () => Edge | undefined): Backlog => ({
  isContended: () => edge()?.backlog.isContended() ?? false,
  of: (organizationId) => edge()?.backlog.of(organizationId) ?? NOTHING,
});

function begin(edge: Edge | undefined, hostProblem: CheckHost, exchange: Exchange, tooMuchOf: Line | undefined): void {
  if (isHealth(exchange)) return void answerHealth(exchange, edge);
  const { host } = exchange.request.headers;
  if (host === undefined)
    return sendError(exchange, 400, "BAD_REQUEST", "the request has no Host header", { connection: "close" });
  const problem = hostProblem(host);
  if (problem) return sendError(exchange, problem.status, "BAD_REQUEST", problem.message);
  if (edge) return edge.handle(exchange, tooMuchOf);
  sendError(exchange, 503, "UNAVAILABLE", "the server is starting", { "retry-after": "1" });
}

function beginUpgrade(
  edge: Edge | undefined,
  hostProblem: CheckHost,
  upgrade: Upgrade,
  socket: Duplex,
  head: Buffer,
): void {
  const { request, secure } = upgrade;
  socket.on("error", () => socket.destroy());
  const problem = headProblem(request) ?? hostProblem(request.headers.host);
  if (problem) return refuseUpgrade(socket, problem.status, secure);
  if (!edge) return refuseUpgrade(socket, 503, secure);
  edge.upgrade(upgrade, socket, head);
}

/** The edge, or what stands in for it until there is one. */
type Admittance = { lineOf(exchange: Exchange): Line; begin(exchange: Exchange, tooMuchOf: Line | undefined): void };

class HttpEntrant implements Entrant {
  readonly #exchange: Exchange;
  readonly #admittance: Admittance;

  constructor(exchange: Exchange, admittance: Admittance) {
    this.#exchange = exchange;
    this.#admittance = admittance;
  }

  line(): Line {
    return this.#admittance.lineOf(this.#exchange);
  }

  mayBeUrgent(): boolean {
    return isHealth(this.#exchange) || this.#exchange.path === "/metrics" || mayBeUrgent(this.#exchange.request);
  }

  go(tooMuchOf: Line | undefined): void {
    if (!this.#exchange.request.socket.destroyed) this.#admittance.begin(this.#exchange, tooMuchOf);
  }
}

/** The header that says how the body is sent may be among those left out. */
function refuseHead(exchange: Exchange, { status, message }: HeadProblem): void {
  ignoreRest(exchange.request.socket);
  sendError(exchange, status, "BAD_REQUEST", message, { connection: "close" });
}

const TOO_MANY_AT_ONCE = `too many requests of this connection are under way (${LIMITS.requestsPerConnection} at most, a tenth of them while others send as many): wait for answers`;

/** Requests that a client sends without waiting for answers would all begin at once. */
const refusePipelined = (exchange: Exchange): void =>
  sendError(exchange, 503, "UNAVAILABLE", TOO_MANY_AT_ONCE, { "retry-after": "1", connection: "close" });

const isHealth = ({ path, request }: Exchange): boolean =>
  (path === "/healthz" || path === "/readyz") && (request.method === "GET" || request.method === "HEAD");

/** Without credentials and for any Host: probes come by address. */
async function answerHealth(exchange: Exchange, edge: Edge | undefined): Promise<void> {
  const { isReady, late }: Readiness =
    exchange.path === "/healthz"
      ? { isReady: true, late: [] }
      : ((await edge?.isReady()) ?? { isReady: false, late: [] });
  const status = isReady ? "ok" : "unavailable";
  sendJson(exchange, isReady ? 200 : 503, late.length > 0 ? { status, late } : { status });
}

/** `setting`: what says the port. Throws OperatorError. */
export function open(
  server: Server,
  { host, port }: { host: string; port: number },
  setting: "PORT" | "METRICS_PORT",
): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(reasonOf(error, { host, port, setting })));
    server.listen(port, host, () => {
      const { port: taken } = server.address() as AddressInfo;
      resolve(`http://${host.includes(":") ? `[${host}]` : host}:${taken}`);
    });
  });
}

/** Perhaps a server on the same data folder uses it; then there is a better message. */
export class PortInUse extends OperatorError {}

type Where = { host: string; port: number; setting: string };

function reasonOf(error: NodeJS.ErrnoException, { host, port, setting }: Where): Error {
  if (error.code === "EADDRINUSE") {
    return new PortInUse(
      `port ${port} of ${host} is in use: stop what listens there, or set ${setting} to another (0 takes a free one)`,
    );
  }
  if (error.code === "EACCES")
    return new OperatorError(`port ${port} may not be opened by this user: set ${setting} to 1024 or above`);
  return new OperatorError(`cannot listen on ${host}:${port}: ${error.message}`);
}

async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), CLOSE_TIMEOUT_MS);
  await closed;
  clearTimeout(timer);
}
