/** Outgoing HTTP for what users write: every socket passes the guard, everything has a limit (docs/outbound-http.md). */
import type { Agent } from "undici";
import { realClock, type Clock } from "../lib/clock.ts";
import { countsOf, Histogram, type Counts } from "../lib/figures.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Log } from "../lib/log/log.ts";
import { parseUrl } from "../lib/parse-url.ts";
import { openFilesMost } from "../lib/open-files.ts";
import { FairPool, type Charge } from "../fairness/fair-pool.ts";
import type { Answer } from "./answer.ts";
import { guardedConnector, inTurns, lookupBySystem, type Lookup } from "./connect.ts";
import { decode } from "./decode.ts";
import { ERROR_KINDS, OutboundError, OutboundRefused, tooLarge, type RefusedAddress } from "./errors.ts";
import { exchange, FREE_BYTES } from "./exchange.ts";
import { createGuard } from "./guard.ts";
import { Interruption } from "./interruption.ts";
import { redirected } from "./redirect.ts";
import {
  checkRequest,
  type BodySink,
  type CheckedRequest,
  type Confidential,
  type OutboundRequest,
  type OutboundResponse,
  type ResponseHead,
} from "./request.ts";

export type { BodySink, Confidential, OutboundRequest, OutboundResponse, ResponseHead };

export interface Outbound {
  /** Any status is an answer. Rejects with OutboundError, or with the reason of the caller's signal. */
  request(request: OutboundRequest): Promise<OutboundResponse>;
}

/** By the status of the answer, or why there was none; `interrupted`: by its caller. */
const OUTCOMES = ["2xx", "3xx", "4xx", "5xx", ...ERROR_KINDS, "interrupted"] as const;
type Outcome = (typeof OUTCOMES)[number];
type OutboundFigures = { calls: Counts<Outcome>; seconds: Histogram };

const outcomeOf = (status: number): Outcome => {
  if (status < 300) return "2xx";
  if (status < 400) return "3xx";
  return status < 500 ? "4xx" : "5xx";
};

export type OutboundOptions = {
  /** CIDRs of OUTBOUND_ALLOW. */
  allow: readonly string[];
  log?: Log;
  lookup?: Lookup;
  connectTimeoutMs?: number;
  /** How long an answer that has begun may send nothing; `LIMITS.callIdleSeconds`. */
  idleMs?: number;
  /** Calls' time limits follow this clock. */
  clock?: Clock;
  /** Calls at once; `LIMITS.outboundCalls`, or less where the process may open few files. */
  mostCalls?: number;
};

/** Share of the files that the process may open; the rest is for incoming connections and the database. */
const SHARE_OF_FILES = 1 / 4;

const mostCallsHere = (): number => Math.min(LIMITS.outboundCalls, Math.floor(openFilesMost() * SHARE_OF_FILES));

/** Throws OperatorError for an entry of `allow` that is not an address range. */
export function createOutbound(options: OutboundOptions): Outbound & { figures: OutboundFigures } & AsyncDisposable {
  const figures: OutboundFigures = { calls: countsOf(OUTCOMES), seconds: Histogram.ofSeconds() };
  const { clock = realClock, idleMs = LIMITS.callIdleSeconds * 1_000 } = options;
  const open = opener(options);
  let opening: Promise<Sockets> | undefined;
  let sockets: Sockets | undefined;
  let disposed = false;
  const bodies = new FairPool({
    shared: LIMITS.outboundAnswersBytes,
    // As it came, and unpacked.
    alone: 2 * Math.max(LIMITS.outputBytes, LIMITS.modelFileBytes, LIMITS.openapiDocumentBytes),
    own: LIMITS.outputBytes,
  });
  // Each has one socket at a time; sockets kept open between calls are counted separately.
  const calls = new FairPool({
    shared: options.mostCalls ?? mostCallsHere(),
    alone: 0,
    own: LIMITS.outboundCallsOwn,
  });
  const answerTo = async (request: OutboundRequest, charge: Charge): Promise<OutboundResponse> => {
    const begunAt = performance.now();
    let outcome: Outcome = "interrupted";
    try {
      const checked = checkRequest(request);
      if (disposed) throw new OutboundError("network", `${checked.url.origin} was given up: the server is stopping`);
      sockets ??= await (opening ??= open());
      const response = await call(sockets, checked, request, { calls, charge, clock, idleMs });
      outcome = outcomeOf(response.status);
      return response;
    } catch (error) {
      if (error instanceof OutboundError) outcome = error.kind;
      if (error instanceof OutboundRefused && error.address)
        options.log?.info(loggable(error.address, request), REFUSED);
      throw error;
    } finally {
      figures.calls[outcome]++;
      figures.seconds.since(begunAt);
      const turn = request.turn?.();
      if (turn) await turn;
    }
  };
  return {
    figures,
    async request(request) {
      const charge = bodies.open(request.organizationId);
      try {
        const response = await answerTo(request, charge);
        await request.taken?.(response);
        return response;
      } finally {
        charge[Symbol.dispose]();
      }
    },
    async [Symbol.asyncDispose]() {
      disposed = true;
      await (await opening)?.[Symbol.asyncDispose]();
    },
  };
}

const REFUSED = "outgoing call refused";

/** Without the host if it may be a secret: the author's, or of a redirect, which may repeat what was sent. */
function loggable({ host, ...refused }: RefusedAddress, { url, confidential }: OutboundRequest): object {
  const isKnown = !confidential?.url && parseUrl(url)?.hostname === host;
  return isKnown ? { host, ...refused } : refused;
}

/** Without `using`, as `request`: in what is built it is ten objects a call (decision 0034). */
async function call(
  sockets: Sockets,
  first: CheckedRequest,
  options: OutboundRequest,
  { calls, charge, clock, idleMs }: { calls: FairPool; charge: Charge; clock: Clock; idleMs: number },
): Promise<OutboundResponse> {
  const { organizationId, signal, timeoutMs, limitMs = timeoutMs, redirect, mostBytes = LIMITS.outputBytes } = options;
  const timedOut = (): Error =>
    new OutboundError("timeout", `${next.url.origin} did not answer in full within ${limitMs / 1_000} s`);
  let next = first;
  const interruption = new Interruption(signal, clock, timeoutMs, timedOut);
  const place = calls.open(organizationId);
  try {
    if (!place.tryHold(1)) {
      interruption.timedOut = () =>
        new OutboundError(
          "timeout",
          `${first.url.origin} was not asked: no place for the call was free within ${limitMs / 1_000} s`,
        );
      await waitFor(place, 1, interruption);
      interruption.timedOut = timedOut;
    }
    for (let redirects = 0; ; redirects++) {
      const reading = {
        charge,
        idleMs,
        mostBytes,
        isEnough: options.isEnough?.(),
        stream: options.stream,
        sent: options.sent,
      };
      const answer = await exchange(sockets.agent(organizationId), next, interruption, reading);
      const target = redirect ? redirected(next, answer) : undefined;
      if (!target) {
        const isPacked = answer.headers["content-encoding"] !== undefined;
        const whole = isPacked ? await unpack(answer, next.url.origin, { interruption, charge, mostBytes }) : answer;
        interruption.throwIfEnded();
        return { ...whole, url: next.url.href };
      }
      // Its body is not looked at.
      charge[Symbol.dispose]();
      if (redirects === LIMITS.outboundRedirects) {
        throw new OutboundError(
          "network",
          `${first.url.origin} led through more than ${LIMITS.outboundRedirects} redirects`,
        );
      }
      next = target;
    }
  } finally {
    place[Symbol.dispose]();
    interruption[Symbol.dispose]();
  }
}

/** Organizations take turns. Throws what ends the call first. */
async function waitFor(charge: Charge, units: number, interruption: Interruption): Promise<void> {
  const over = new AbortController();
  interruption.stop = () => over.abort();
  await charge.hold(units, over.signal);
  interruption.throwIfEnded();
}

/** Charges a large answer before unpacking it; most are unpacked, in a thread, without a charge. */
async function unpack(
  answer: Answer,
  host: string,
  { interruption, charge, mostBytes }: { interruption: Interruption; charge: Charge; mostBytes: number },
): Promise<Answer> {
  if (charge.amount === 0) {
    const small = await decode(answer, host, FREE_BYTES);
    if (small) return small;
    interruption.throwIfEnded();
    await waitFor(charge, answer.body.length + mostBytes, interruption);
  }
  const decoded = await decode(answer, host, mostBytes);
  if (!decoded) throw tooLarge(host, mostBytes);
  return decoded;
}

type Sockets = { agent(organizationId: OrganizationId): Agent } & AsyncDisposable;

/** The agent for an organization's calls; 3 kB without connections. */
type Dispatchers = { keeping: Agent; closing: Agent };

/**
 * Each organization has its own connections: another's calls to the same server do not use up that server's connections,
 * nor do another's slow names hold up the look-up. Connections are kept for 4 s (at most 10 s if the other side asks for
 * it), until so many sockets are open that an author who calls a thousand hosts could use up the process's file
 * descriptors; from then on each is closed after use.
 */
function opener({ allow, lookup = lookupBySystem, connectTimeoutMs }: OutboundOptions): () => Promise<Sockets> {
  const guard = createGuard(allow);
  const timeoutMs = connectTimeoutMs ?? LIMITS.outboundConnectSeconds * 1000;
  return async () => {
    // Loaded only for calls: 60 ms and 26 MB.
    const { Agent, buildConnector } = await import("undici");
    const lookupFor = inTurns(lookup, timeoutMs);
    let open = 0;
    const count = (change: 1 | -1): void => void (open += change);
    const create = (organizationId: OrganizationId): Dispatchers => {
      const own = { guard, lookup: lookupFor(organizationId), timeoutMs, count };
      const shared = {
        connect: guardedConnector(buildConnector, own),
        connections: LIMITS.outboundConnectionsPerOrigin,
        maxHeaderSize: LIMITS.outboundHeaderBytes,
        keepAliveTimeout: 4_000,
        keepAliveMaxTimeout: 10_000,
        allowH2: false,
        useMilo: false,
      };
      return { keeping: new Agent(shared), closing: new Agent({ ...shared, pipelining: 0 }) };
    };
    const organizations = new Map<OrganizationId, Dispatchers>();
    return {
      agent(organizationId) {
        let agents = organizations.get(organizationId);
        if (!agents) organizations.set(organizationId, (agents = create(organizationId)));
        return open < LIMITS.outboundKeptSockets ? agents.keeping : agents.closing;
      },
      async [Symbol.asyncDispose]() {
        const agents = [...organizations.values()].flatMap(({ keeping, closing }) => [keeping, closing]);
        await Promise.all(agents.map((agent) => agent.destroy()));
      },
    };
  };
}
