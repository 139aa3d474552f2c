/** Requests and connections. */
import { BY_NAME, type Limit } from "./limit.ts";

const INBOUND = "test/inbound.test.ts";
const LINGER = "server/src/http/linger.test.ts";
const SLOW_CLIENTS = "test/slow-clients.test.ts";
const ENTRANCE = "server/src/http/connections/entrance.test.ts";
const CONNECTIONS = "server/src/http/connections/connections.test.ts";

export const HTTP = {
  bodyBytes: { value: 1024 * 1024, bounds: "a request's body", test: BY_NAME },
  strangerBodyBytes: {
    value: 64 * 1024,
    bounds: "a body without a credential, and an unfinished message of a WebSocket without one",
    beyond: "413; the WebSocket is closed",
    test: BY_NAME,
  },
  arrivingBytes: {
    value: 128 * 1024 * 1024,
    bounds:
      "all bodies and messages together, from their first byte until they are answered, or an eighth of the heap if that is less. One organization, or all strangers together, may hold no more than it leaves free",
    beyond: "`UNAVAILABLE` until less is held",
    test: [INBOUND, "of one organization have half of the budget, then 503"],
  },
  bodyPieces: {
    value: 1_000,
    bounds: "chunks of a chunked body beyond one per 512 bytes; a tenth of that while other clients send as many",
    beyond: "413",
    test: BY_NAME,
  },
  bodyProgressSeconds: {
    value: 5,
    bounds: "the period in which a body or message must bring `bodyProgressBytes` or be complete",
    beyond: "408, or the WebSocket is closed",
    test: [INBOUND, "that stand still or trickle are cut with 408, those that come are not"],
  },
  bodyProgressBytes: {
    value: 4096,
    bounds: "a body or message in each of these periods, at least",
    beyond: "with less, 408, or the WebSocket is closed",
    test: ["server/src/http/connections/arrivals.test.ts", "4,096 bytes in each 5 s are enough, one less is not"],
  },
  unreadBytes: {
    value: 16 * 1024 * 1024,
    bounds: "the rest of a refused body, read and thrown away so that its sender gets the response",
    beyond: "the connection is cut",
    test: [LINGER, "so many bytes of a refused body, and not one more"],
  },
  unreadSeconds: {
    value: 2,
    bounds: "how long this goes on after the response",
    beyond: "the connection is cut",
    test: [LINGER, "for so long, and no longer"],
  },
  unreadBodies: {
    value: 256,
    bounds: "connections in this state at a time",
    beyond: "the oldest is cut",
    test: [LINGER, "so many at a time, and one more cuts the oldest"],
  },
  fragmentsPerMessage: {
    value: 64,
    bounds: "fragments of a WebSocket message",
    beyond: "closed with 1008",
    test: BY_NAME,
  },
  connectionInitCharacters: {
    value: 4_096,
    bounds: "a WebSocket's `connection_init`",
    beyond: "closed with 4400",
    test: BY_NAME,
  },
  connectionInitSeconds: {
    value: 10,
    bounds: "how long a WebSocket may stay without `connection_init`",
    beyond: "closed with 4408",
    test: ["test/close-codes.test.ts", "4408: no connection_init within 10 s, pings or not"],
  },
  operationIdCharacters: {
    value: 100,
    bounds: "the `id` of a WebSocket operation",
    beyond: "closed with 4400",
    test: BY_NAME,
  },
  unansweredBytes: {
    value: 1024 * 1024,
    bounds:
      "errors and other short messages that wait for one WebSocket's reader; without a credential also all its messages until they are answered",
    beyond:
      "the WebSocket is closed, or a stranger's message is answered with `UNAVAILABLE`; a caller's messages count as `arrivingBytes`",
    test: [
      "server/src/http/graphql/websocket/unanswered.test.ts",
      "a stranger's may be 1 MiB together, a caller's have the organization's share",
    ],
  },
  messagesWaiting: {
    value: 1_000,
    bounds: "messages that wait for one WebSocket's reader",
    beyond: "the WebSocket is closed",
    test: [
      "server/src/http/graphql/websocket/outgoing.test.ts",
      "a thousand messages wait for a client that does not read",
    ],
  },
  headersPerRequest: { value: 100, bounds: "header fields of a request", beyond: "431", test: BY_NAME },
  headerBytes: {
    value: 16 * 1024,
    bounds: "the header fields of a request, with its first line",
    beyond: "431",
    test: ["test/limits.test.ts", '"headerBytes"'],
  },
  headersSeconds: {
    value: 15,
    bounds: "how long a request's header may take to arrive",
    beyond: "408, within 5 s",
    test: [SLOW_CLIENTS, "a head letter by letter"],
  },
  requestArrivalSeconds: {
    value: 30,
    bounds: "how long a whole request may take to arrive",
    beyond: "408, within 5 s",
    test: [SLOW_CLIENTS, "a caller's body that brings just enough at a time"],
  },
  requestsPerConnection: {
    value: 100,
    bounds:
      "requests of one connection that are not answered yet, or that arrive in one tick of the event loop; a tenth of that while others send as many",
    beyond: "503",
    test: [INBOUND, "of requests that one connection sends without waiting 100 are begun"],
  },
  waitToBeginMs: {
    value: 250,
    bounds:
      "how long a request may wait to begin in an overload: when, for half a second, each request of its organization (or of a stranger's address) has waited half as long, and `requestsWaiting` of them wait",
    beyond: "503 for those over it ([overload](operations.md#more-than-it-can-answer))",
    test: [ENTRANCE, "after the first second those that are begun waited hardly longer than they may"],
  },
  requestsWaiting: {
    value: 256,
    bounds: "requests of an organization that wait to begin; its statements that wait for the database count",
    beyond: "`waitToBeginMs` applies; fewer are never refused",
    test: [ENTRANCE, "a line of a few is not refused, however slow it is; of many that are as slow some are"],
  },
  strangerConnections: {
    value: 10_000,
    bounds: "connections without a credential, or half of the files that the process may open if that is less",
    beyond: "the oldest of the address with the most is closed",
    test: [CONNECTIONS, "of strangers' connections the one that is open longest gives way"],
  },
  strangerConnectionsPerAddress: {
    value: 2_500,
    bounds: "such connections from one address (IPv6: /64), or an eighth of the files. `TRUSTED_PROXIES` are exempt",
    beyond: "the address's own oldest is closed",
    test: ["test/connections.test.ts", "an address closes its own connections for more than its share"],
  },
  callerConnections: {
    value: 30_000,
    bounds:
      "connections of callers, or the files that the process may open if that is less. One organization may have no more than it leaves free",
    beyond: "refused until fewer are open",
    test: [CONNECTIONS, "an organization has what stays free beside it"],
  },
  metricsConnections: {
    value: 20,
    bounds: "connections to `METRICS_PORT`",
    beyond: "closed at once",
    test: ["test/metrics.test.ts", "connections pass, a further one is closed"],
  },
} satisfies Record<string, Limit>;
