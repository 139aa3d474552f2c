/** Which part of the HTTP room a request belongs to. */
import { getHeapStatistics } from "node:v8";
import { recallCaller } from "../../auth/admission/authenticate.ts";
import type { Auth } from "../../auth/handle/auth.ts";
import type { Graphql } from "../../graphql/graphql.ts";
import { FairShare } from "../../fairness/fair-share.ts";
import type { Clock } from "../../lib/clock.ts";
import { stopping } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Loop } from "../../lib/loops/loop.ts";
import { running } from "../../lib/running.ts";
import { UnderWay } from "../../lib/under-way.ts";
import type { Members } from "../../members/members.ts";
import type { Triggers } from "../../triggers/triggers.ts";
import { createAdmission } from "../admission/admission.ts";
import { clientAddresses, ownOrigins } from "../addresses.ts";
import { sendError, sendOverloaded, type Exchange } from "../write-response.ts";
import { createArrivals } from "../connections/arrivals.ts";
import { strangersLine, type Connections } from "../connections/connections.ts";
import { corsHeaders } from "../cors.ts";
import { createDelivery } from "../write-pieces.ts";
import type { Backlog, Entrance, Whose } from "../connections/entrance.ts";
import { handleGraphql, type GraphqlEdge } from "../graphql/graphql.ts";
import { HeldBack } from "../connections/held-back.ts";
import type { Edge } from "./listen.ts";
import { createMetricsPage, type MetricsPageOptions } from "../pages/metrics-page.ts";
import { createPages, wantsPage } from "../pages/pages.ts";
import { refuseUpgrade } from "../raw-response.ts";
import { userAgentOf } from "../request.ts";
import { securityHeaders } from "../security-headers.ts";
import { createEventsEdge } from "../triggers/events.ts";
import { createEventStreams } from "../graphql/sse.ts";
import { mayBeUrgent } from "../connections/urgent.ts";
import { createWebhooks } from "../triggers/webhooks.ts";
import { createWebSessions } from "../pages/web-session.ts";
import { createWebSockets } from "../graphql/websocket/websocket.ts";

type EdgeOptions = Pick<MetricsPageOptions, "metrics" | "rates" | "firstOrganization" | "isUnavailable"> & {
  graphql: Graphql;
  auth: Auth;
  members: Members;
  triggers: Triggers;
  clock: Clock;
  log: Log;
  publicUrl: string | undefined;
  corsOrigins: readonly string[];
  trustedProxies: readonly string[];
  webFolder: string;
  connections: Connections;
  entrance: Entrance;
  /** Of the database. */
  backlog: Backlog;
  isReady: Edge["isReady"];
  /** The process is about to end: no new work. */
  isStopping: () => boolean;
};

/** What arrives is parsed within the heap. */
const SHARE_OF_HEAP = 1 / 8;

const arrivingBytes = (): number => Math.min(LIMITS.arrivingBytes, getHeapStatistics().heap_size_limit * SHARE_OF_HEAP);

/** `arrivals`: what they hold. */
type Counted = { readonly webSockets: number; readonly arrivals: FairShare; readonly loops: readonly Loop[] };

type Leaving = {
  /** Counts requests until they are answered. */
  working: UnderWay;
  /** Prepares for the end of the process: ends subscriptions and incomplete bodies at once; other requests are answered. */
  leave(): void;
};

export function createEdge(options: EdgeOptions): Edge & Counted & Leaving & AsyncDisposable {
  const { graphql, auth, log, isReady, isStopping } = options;
  const stack = new AsyncDisposableStack();
  const clientAddress = clientAddresses(options.trustedProxies);
  const isOwnOrigin = ownOrigins(options.publicUrl, options.corsOrigins);
  const { connections, entrance, backlog } = options;
  const admission = stack.use(createAdmission(auth, connections));
  const delivery = createDelivery(options.clock);
  const streams = stack.use(createEventStreams({ admission, delivery, clock: options.clock, connections }));
  const arriving = new FairShare(arrivingBytes());
  const arrivals = stack.use(createArrivals(arriving, auth.clock));
  const events = createEventsEdge({ ...options, admission, arrivals, clientAddress });
  const heldBack = stack.use(new HeldBack(options.clock));
  const webSockets = stack.use(
    createWebSockets({
      graphql,
      admission,
      delivery,
      log,
      clock: options.clock,
      arrivals,
      secure: securityHeaders(options.publicUrl),
      entrance,
      connections,
      heldBack,
    }),
  );
  const pages = createPages(options);
  const metricsPage = createMetricsPage({ ...options, admission, clientAddress });
  const webSessions = createWebSessions({ ...options, admission, arrivals, clientAddress });
  const webhooks = createWebhooks({ ...options, admission, arrivals, clientAddress });
  const parts = [webhooks, events, webSessions];
  /** A proxy's connection brings requests of many. Answers after how many seconds it is read again, for `Retry-After`. */
  const holdBack = ({ request: { socket } }: Exchange, whose: Whose): number =>
    connections.of(socket).isProxy ? 1 : heldBack.hold(whose, socket);
  const graphqlEdge: GraphqlEdge = {
    graphql,
    admission,
    streams,
    clientAddress,
    cors: new Set(options.corsOrigins),
    arrivals,
    connections,
    delivery,
  };

  const working = new UnderWay();
  const handledWell = (): void => working.end();

  return {
    isReady,
    working,
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
    backlog,
    whose: ({ request, path }) => {
      const connection = connections.of(request.socket);
      const { known, organizationId, isProxy } = connection;
      const { authorization } = request.headers;
      if (authorization !== undefined) {
        if (known?.authorization === authorization) return { line: known.caller.organizationId, isStranger: false };
        const caller = recallCaller(auth, authorization, known);
        if (caller) return { line: caller.organizationId, isStranger: false };
      } else if (organizationId !== undefined && !isProxy) return { line: organizationId, isStranger: false };
      // Webhooks of many organizations are called from one address: a forge's, or a proxy's.
      const called = webhooks.organizationOf(path);
      if (called !== undefined) return { line: called, isStranger: false };
      return { line: strangersLine(connection, () => clientAddress(request)), isStranger: true };
    },
    handle: (exchange, tooMuchOf) => {
      // Whoever looks at an overloaded server needs it most.
      if (exchange.path === "/metrics") return void metricsPage(exchange);
      const isGraphql = exchange.path === "/graphql";
      if (tooMuchOf && !(isGraphql && mayBeUrgent(exchange.request)))
        return sendOverloaded(exchange, holdBack(exchange, tooMuchOf), corsHeaders(graphqlEdge.cors, exchange.request));
      const others = isGraphql ? undefined : parts.find((part) => part.isFor(exchange.path));
      // `/events` takes CloudEvents, and is a page of the UI.
      if (!isGraphql && (!others || (others === events && wantsPage(exchange.request)))) return pages(exchange);
      if (isStopping()) {
        const { code, message } = stopping();
        return sendError(exchange, 503, code, message, { "retry-after": "1", connection: "close" });
      }
      const { requestId } = exchange;
      const handled = isGraphql
        ? running.run(
            { requestId },
            handleGraphql,
            graphqlEdge,
            exchange,
            tooMuchOf && (() => holdBack(exchange, tooMuchOf)),
          )
        : running.run({ requestId }, others!.handle, exchange);
      working.begin();
      handled.then(handledWell, (error: unknown) => {
        working.end();
        // The answer could not be written; a client that went away is the usual reason.
        log.debug({ requestId, err: error }, "an answer could not be written");
        exchange.response.destroy();
      });
    },
    upgrade: (upgrade, socket, head) => {
      const { request, path, secure } = upgrade;
      if (path !== "/graphql") return refuseUpgrade(socket, 404, secure);
      if (!isOwnOrigin(request)) return refuseUpgrade(socket, 403, secure);
      if (isStopping()) return refuseUpgrade(socket, 503, secure);
      webSockets.accept(upgrade, socket, head, { address: clientAddress(request), userAgent: userAgentOf(request) });
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
