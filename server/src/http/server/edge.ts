/** Takes each request to its route, if the server may begin it: puts the parts of this room together. */
import { getHeapStatistics } from "node:v8";
import type { Approvals } from "../../approvals/approvals.ts";
import { recallCaller } from "../../auth/admission/authenticate.ts";
import type { Auth } from "../../auth/handle/auth.ts";
import type { Graphql } from "../../graphql/graphql.ts";
import type { Backlog } from "../../fairness/backlog.ts";
import { FairShare } from "../../fairness/fair-share.ts";
import type { Clock } from "../../lib/clock.ts";
import { stopping } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Loop } from "../../lib/loops/loop.ts";
import { running } from "../../lib/running.ts";
import { UnderWay } from "../../lib/under-way.ts";
import type { Mcp } from "../../mcp/call.ts";
import type { Members } from "../../members/members.ts";
import type { Events } from "../../events/events.ts";
import type { Triggers } from "../../triggers/triggers.ts";
import { createAdmission } from "../admission/admission.ts";
import { clientAddresses, ownOrigins } from "../addresses.ts";
import { createArrivals } from "../connections/arrivals.ts";
import { strangersLine, type Connections } from "../connections/connections.ts";
import type { Entrance, Line } from "../connections/entrance.ts";
import { HeldBack } from "../connections/held-back.ts";
import { mayBeUrgent } from "../connections/urgent.ts";
import { corsHeaders } from "../cors.ts";
import { createEventStreams } from "../graphql/sse.ts";
import { createWebSockets } from "../graphql/websocket/websocket.ts";
import type { MetricsPageOptions } from "../pages/metrics-page.ts";
import { refuseUpgrade } from "../raw-response.ts";
import { userAgentOf } from "../request.ts";
import { securityHeaders } from "../security-headers.ts";
import { webhookPathOf } from "../triggers/webhook-call.ts";
import { createPieceWriter } from "../write-pieces.ts";
import { sendError, sendOverloaded, type Exchange } from "../write-response.ts";
import type { Edge } from "./listen.ts";
import { createRoutes } from "./routes.ts";

type EdgeOptions = Pick<MetricsPageOptions, "metrics" | "rates" | "firstOrganization" | "isUnavailable"> &
  Mcp & {
    graphql: Graphql;
    approvals: Approvals;
    auth: Auth;
    members: Members;
    events: Events;
    triggers: Triggers;
    clock: Clock;
    log: Log;
    publicUrl: string | undefined;
    corsOrigins: readonly string[];
    trustedProxies: readonly string[];
    webFolder: string;
    connections: Connections;
    entrance: Entrance;
    /** The database's backlog. */
    backlog: Backlog;
    isReady: Edge["isReady"];
    /** The process is about to end: no new work. */
    isStopping: () => boolean;
  };

/** The share of the heap that bodies may take, since they are parsed in it. */
const SHARE_OF_HEAP = 1 / 8;

const arrivingBytes = (): number => Math.min(LIMITS.arrivingBytes, getHeapStatistics().heap_size_limit * SHARE_OF_HEAP);

/** `arrivals`: the bytes that arriving bodies hold. */
type Counted = { readonly webSockets: number; readonly arrivals: FairShare; readonly loops: readonly Loop[] };

type Leaving = {
  /** Counts requests until they are answered. */
  working: UnderWay;
  /** Prepares for the end of the process: ends subscriptions and incomplete bodies at once; other requests are answered. */
  leave(): void;
};

export function createEdge(options: EdgeOptions): Edge & Counted & Leaving & AsyncDisposable {
  const stack = new AsyncDisposableStack();
  const parts = openParts(options, stack);
  const { admission, arrivals, arriving, streams, webSockets, clientAddress, isOwnOrigin } = parts;
  return {
    isReady: options.isReady,
    working: parts.working,
    leave: () => {
      webSockets.leave();
      streams[Symbol.dispose]();
      arrivals.refuse(stopping());
    },
    loops: [admission.loop],
    get webSockets() {
      return webSockets.open;
    },
    arrivals: arriving,
    backlog: options.backlog,
    lineOf: (exchange) => lineOf(parts, exchange),
    handle: (exchange, tooMuchOf) => handle(parts, exchange, tooMuchOf),
    upgrade: (upgrade, socket, head) => {
      const { request, path, secure } = upgrade;
      if (path !== "/graphql") return refuseUpgrade(socket, 404, secure);
      if (!isOwnOrigin(request)) return refuseUpgrade(socket, 403, secure);
      if (options.isStopping()) return refuseUpgrade(socket, 503, secure);
      webSockets.accept(upgrade, socket, head, { address: clientAddress(request), userAgent: userAgentOf(request) });
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

type Parts = ReturnType<typeof openParts>;

/** `stack` closes them. */
function openParts(options: EdgeOptions, stack: AsyncDisposableStack) {
  const { graphql, auth, clock, connections } = options;
  const clientAddress = clientAddresses(options.trustedProxies);
  const cors = new Set(options.corsOrigins);
  const secure = securityHeaders(options.publicUrl);
  const admission = stack.use(createAdmission(auth, connections));
  const writer = createPieceWriter(clock);
  const streams = stack.use(createEventStreams({ admission, writer, clock, connections }));
  const arriving = new FairShare(arrivingBytes());
  const arrivals = stack.use(createArrivals(arriving, auth.clock));
  const heldBack = stack.use(new HeldBack(clock));
  const webSockets = stack.use(createWebSockets({ ...options, admission, writer, arrivals, secure, heldBack }));
  const graphqlEdge = { graphql, admission, streams, clientAddress, cors, arrivals, connections, writer };
  const isOwnOrigin = ownOrigins(options.publicUrl, options.corsOrigins);
  const mcpEdge = { ...graphqlEdge, ...options, isOwnOrigin };
  const routeOf = createRoutes({ ...options, graphqlEdge, mcpEdge, admission, arrivals, clientAddress });
  const working = new UnderWay();
  const endWork = (): void => working.end();
  return {
    ...options,
    clientAddress,
    isOwnOrigin,
    cors,
    admission,
    streams,
    arriving,
    arrivals,
    heldBack,
    webSockets,
    routeOf,
    working,
    endWork,
  };
}

/** The line of its organization, if memory can tell which that is; otherwise of its address. */
function lineOf({ auth, connections, triggers, clientAddress }: Parts, { request, path }: Exchange): Line {
  const connection = connections.of(request.socket);
  const { known, organizationId, isProxy } = connection;
  const { authorization } = request.headers;
  if (authorization !== undefined) {
    if (known?.authorization === authorization) return { name: known.caller.organizationId, isStranger: false };
    const caller = recallCaller(auth, authorization, known);
    if (caller) return { name: caller.organizationId, isStranger: false };
  } else if (organizationId !== undefined && !isProxy) return { name: organizationId, isStranger: false };
  // Webhooks of many organizations are called from one address: a forge's, or a proxy's.
  const webhook = webhookPathOf(path);
  const called = webhook && triggers.webhooks.recall(webhook);
  if (called !== undefined) return { name: called, isStranger: false };
  return { name: strangersLine(connection, () => clientAddress(request)), isStranger: true };
}

function handle(parts: Parts, exchange: Exchange, tooMuchOf: Line | undefined): void {
  const { request, requestId, response } = exchange;
  const { overloaded, isWork, answer } = parts.routeOf(exchange);
  const mayBegin = !tooMuchOf || overloaded === "answered" || (overloaded === "urgent" && mayBeUrgent(request));
  if (!mayBegin)
    return sendOverloaded(exchange, holdBack(parts, exchange, tooMuchOf), corsHeaders(parts.cors, request));
  const { working, endWork, log } = parts;
  const unwritten = (error: unknown): void => {
    // A client that went away is the usual reason.
    log.debug({ requestId, err: error }, "an answer could not be written");
    response.destroy();
  };
  if (!isWork) return void answer(exchange).catch(unwritten);
  if (parts.isStopping()) {
    const { code, message } = stopping();
    return sendError(exchange, 503, code, message, { "retry-after": "1", connection: "close" });
  }
  const onRefusal = tooMuchOf && (() => void holdBack(parts, exchange, tooMuchOf));
  working.begin();
  running.run({ requestId }, answer, exchange, onRefusal).then(endWork, (error: unknown) => {
    working.end();
    unwritten(error);
  });
}

/**
 * Reads the connection again only after a while, unless it is a proxy's, which brings requests of many. Returns in how many seconds, for
 * `Retry-After`.
 */
const holdBack = ({ connections, heldBack }: Parts, { request: { socket } }: Exchange, line: Line): number =>
  connections.of(socket).isProxy ? 1 : heldBack.hold(line, socket);
