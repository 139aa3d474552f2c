/**
 * The table of routes: for each path its methods, who is admitted, and what answers. Health is not in it: listen.ts answers it before
 * anything else is open.
 */
import type { Approvals } from "../../approvals/approvals.ts";
import type { Auth } from "../../auth/handle/auth.ts";
import type { Needs } from "../../auth/needs.ts";
import type { Graphql } from "../../graphql/graphql.ts";
import type { Members } from "../../members/members.ts";
import type { Events } from "../../events/events.ts";
import type { Triggers } from "../../triggers/triggers.ts";
import { admit } from "../admission/admit.ts";
import type { Arrivals } from "../connections/arrivals.ts";
import type { Connections } from "../connections/connections.ts";
import { handleGraphql, type GraphqlEdge } from "../graphql/graphql.ts";
import { HttpRefusal, sendRefusal, type Statuses } from "../http-refusal.ts";
import { handleMcp, type McpEdge } from "../mcp/mcp.ts";
import { METADATA_PATH, resourceMetadata } from "../mcp/resource-metadata.ts";
import { admitByLink, decideByLink, showLinked } from "../pages/approval-link.ts";
import { createMetricsPage, type MetricsPageOptions } from "../pages/metrics-page.ts";
import { createPages, wantsPage } from "../pages/pages.ts";
import { admitOwnPages, refresh, signIn, signOut } from "../pages/web-session.ts";
import { EVENTS_NEED, publishEvents } from "../triggers/events.ts";
import { WEBHOOK_PATH } from "../triggers/webhook-call.ts";
import { admitByUrl, callWebhook, webhookStatuses } from "../triggers/webhooks.ts";
import { sendReply, type Exchange, type Reply } from "../write-response.ts";

export type Route = {
  /** Whole, or the beginning of many if it ends with a slash. */
  path: string;
  /** The fate of a request while the server is overloaded. `urgent`: what stops a run or decides an approval begins. */
  overloaded: "answered" | "urgent" | "refused";
  /** Refused once the process is about to end, which waits for those under way. */
  isWork: boolean;
  /** `holdBack`: the server is overloaded; called if the request is refused for that. */
  answer(exchange: Exchange, holdBack?: () => void): Promise<void>;
};

type RoutesOptions = MetricsPageOptions & {
  graphql: Graphql;
  graphqlEdge: GraphqlEdge;
  mcpEdge: McpEdge;
  approvals: Approvals;
  auth: Auth;
  members: Members;
  events: Events;
  triggers: Triggers;
  arrivals: Arrivals;
  connections: Connections;
  publicUrl: string | undefined;
  webFolder: string;
};

/** Throws what refuses the request. */
type Handler = (exchange: Exchange) => Promise<Reply>;

/** Returns the route of a request. */
export function createRoutes(options: RoutesOptions): (exchange: Exchange) => Route {
  const { graphql, graphqlEdge, mcpEdge } = options;

  const route = (path: string, handlers: Record<string, Handler>, statuses?: (error: unknown) => Statuses): Route => ({
    path,
    overloaded: "refused",
    isWork: true,
    answer: async (exchange) => {
      try {
        const handler = handlerOf(handlers, exchange);
        sendReply(exchange, await handler(exchange));
      } catch (error) {
        await sendRefusal(graphql, exchange, error, statuses?.(error));
      }
    },
  });
  /** Admits a request, then handles it with what was admitted. */
  const on =
    <Admitted>(
      admitted: (exchange: Exchange) => Admitted | Promise<Admitted>,
      handle: (all: RoutesOptions, exchange: Exchange, admitted: Admitted) => Promise<Reply>,
    ): Handler =>
    async (exchange) =>
      handle(options, exchange, await admitted(exchange));
  const callers = (needs: Needs) => (exchange: Exchange) => admit(options, exchange, needs);
  const ownPages = admitOwnPages(options.publicUrl);
  const linked = (exchange: Exchange) => (ownPages(exchange), admitByLink(options, exchange));
  const metadata = { GET: async (exchange: Exchange) => resourceMetadata(options, exchange) };

  const table: readonly Route[] = [
    // Each operation admits its caller by the fields that it asks for.
    urgent("/graphql", (exchange, holdBack) => handleGraphql(graphqlEdge, exchange, holdBack)),
    // Each tool has its scope.
    urgent("/mcp", (exchange, holdBack) => handleMcp(mcpEdge, exchange, holdBack)),
    route(METADATA_PATH, metadata),
    route(`${METADATA_PATH}/mcp`, metadata),
    // Operators need it most when the server is overloaded.
    { path: "/metrics", overloaded: "answered", isWork: false, answer: createMetricsPage(options) },
    route("/events", { POST: on(callers(EVENTS_NEED), publishEvents) }),
    route(WEBHOOK_PATH, { POST: on((exchange) => admitByUrl(options, exchange), callWebhook) }, webhookStatuses),
    route("/auth/session", { POST: on(ownPages, signIn), DELETE: on(ownPages, signOut) }),
    route("/auth/session/refresh", { POST: on(ownPages, refresh) }),
    route("/auth/approval", { POST: on(linked, showLinked) }),
    route("/auth/approval/decision", { POST: on(linked, decideByLink) }),
  ];
  const pages: Route = { path: "/", overloaded: "refused", isWork: false, answer: createPages(options) };

  const byPath = new Map(table.map((one) => [one.path, one]));
  return ({ path, request }) => {
    const found = byPath.get(path.startsWith(WEBHOOK_PATH) ? WEBHOOK_PATH : path) ?? pages;
    // `/events` takes CloudEvents, and is a page of the UI.
    return path === "/events" && wantsPage(request) ? pages : found;
  };
}

const urgent = (path: string, answer: Route["answer"]): Route => ({ path, overloaded: "urgent", isWork: true, answer });

/** Throws HttpRefusal, 405. */
function handlerOf(handlers: Record<string, Handler>, { request: { method = "" } }: Exchange): Handler {
  if (Object.hasOwn(handlers, method)) return handlers[method]!;
  const methods = Object.keys(handlers);
  throw new HttpRefusal(405, `this path takes only ${methods.join(" and ")}`, { allow: methods.join(", ") });
}
