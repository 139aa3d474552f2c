/** Calls to other servers. */
import { BY_NAME, type Limit } from "./limit.ts";

const CALL_ANSWERS = "test/call-answers.test.ts";
const OUTBOUND_TEST = "server/src/outbound/outbound.test.ts";

export const OUTBOUND = {
  callSeconds: {
    value: 3_600,
    bounds: "a call whose task has a `timeout`; without one it has a minute",
    beyond: "it fails with `timeout`",
    test: [CALL_ANSWERS, "a call may take as long as its timeout says, an hour at most"],
  },
  callIdleSeconds: {
    value: 300,
    bounds: "how long a response that has begun may send nothing",
    beyond: "the call fails with `timeout`",
    test: [OUTBOUND_TEST, "that began and then sends nothing is given up"],
  },
  retryAfterSeconds: {
    value: 3_600,
    bounds: "the pause before the next try that a service's `Retry-After` can ask for",
    beyond: "a longer one counts as this",
    test: [CALL_ANSWERS, "asks for more than an hour"],
  },
  authorityCharacters: { value: 2_048, bounds: "`authority` of an `oauth2` authentication", test: BY_NAME },
  tokenPathCharacters: { value: 1_024, bounds: "`endpoints.token` of an `oauth2` authentication", test: BY_NAME },
  refreshTokens: {
    value: 1_000,
    bounds: "refresh tokens of an organization that authorities have replaced",
    beyond: "those that were replaced longest ago are dropped, and the author's own is used again",
    test: ["server/src/secrets/refresh-tokens.db.test.ts", "an organization keeps at most so many, the latest ones"],
  },
  outboundConnectSeconds: {
    value: 10,
    bounds: "connecting to another server",
    beyond: "the call fails with `timeout`",
    test: [OUTBOUND_TEST, "to connect is limited by itself"],
  },
  outboundRedirects: {
    value: 5,
    bounds: "redirects of one call",
    beyond: "the call fails",
    test: [OUTBOUND_TEST, "follows redirects only when asked to, at most five"],
  },
  outboundHeaderBytes: {
    value: 16 * 1024,
    bounds: "headers of a response",
    beyond: "the call fails",
    test: [OUTBOUND_TEST, "of headers is limited too"],
  },
  outboundUrlCharacters: {
    value: 64 * 1024,
    bounds: "a call's URL with its values filled in, and its query",
    beyond: "the call fails with `validation`",
    test: ["test/language-calls.test.ts", "a URL may have as many characters as the limit says"],
  },
  outboundAnswersBytes: {
    value: 64 * 1024 * 1024,
    bounds:
      "bodies over 64 kB of responses that are being read, as received and unpacked. An organization may hold at most as much as stays free, and always one",
    beyond: "further ones wait on the wire",
    test: [OUTBOUND_TEST, "of all answers that are read at once hold no more than the budget"],
  },
  outboundCalls: {
    value: 4_000,
    bounds:
      "calls to other servers at a time, or a quarter of the files that the process may open if that is less. One organization may have no more than it leaves free",
    beyond: "further ones wait; organizations take turns",
    test: [OUTBOUND_TEST, "waits for no place among all calls"],
  },
  outboundCallsOwn: {
    value: 8,
    bounds: "calls that every organization may always have",
    beyond: "further ones come out of `outboundCalls`",
    test: [OUTBOUND_TEST, "waits for no place among all calls"],
  },
  outboundConnectionsPerOrigin: {
    value: 256,
    bounds: "connections of one organization to one server",
    beyond: "further calls wait",
    test: [OUTBOUND_TEST, "goes to a server to which one has as many connections as it may"],
  },
  outboundKeptSockets: {
    value: 512,
    bounds: "open connections of which one is kept after use",
    beyond: "the connection is closed after use",
    test: [OUTBOUND_TEST, "is at most so many sockets, over however many hosts"],
  },
} satisfies Record<string, Limit>;
