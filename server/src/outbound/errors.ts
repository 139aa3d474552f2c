/**
 * How an outgoing call ends without an answer. A message names at most scheme, host and port:
 * path and query, header values and bodies may hold credentials.
 */
import { LIMITS } from "../lib/limits.ts";

/**
 * `refused`: by the guard, before anything was sent. `bad_request`: can't be sent as it is written. `timeout`: no
 * connection or no whole answer in time. `too_large`: the answer is over the limit. `network`: all else on the way.
 */
export const ERROR_KINDS = ["refused", "timeout", "network", "too_large", "bad_request"] as const;
export type OutboundErrorKind = (typeof ERROR_KINDS)[number];

export class OutboundError extends Error {
  readonly kind: OutboundErrorKind;
  /** The system's or undici's code, e.g. `ECONNREFUSED`. */
  readonly code: string | undefined;

  constructor(kind: OutboundErrorKind, message: string, code?: string) {
    super(message);
    this.name = "OutboundError";
    this.kind = kind;
    this.code = code;
  }
}

/** The address that the guard refused, for the operator alone: the message does not name the address. */
export type RefusedAddress = { host: string; address: string; reason: string };

export class OutboundRefused extends OutboundError {
  readonly address: RefusedAddress | undefined;

  constructor(message: string, address?: RefusedAddress) {
    super("refused", message);
    this.name = "OutboundRefused";
    this.address = address;
  }
}

export const tooLarge = (host: string, most: number = LIMITS.outputBytes): OutboundError =>
  new OutboundError("too_large", `the answer of ${host} is larger than ${most} bytes`);

export const tooManyPieces = (host: string): OutboundError =>
  new OutboundError("network", `${host} answered in too many pieces`);

const CLOSED = "closed the connection before its answer was complete";
const UNREACHABLE = "can't be reached";
const SENTENCES = new Map<string, string>(
  Object.entries({
    ECONNREFUSED: "refused the connection",
    ECONNRESET: CLOSED,
    EPIPE: CLOSED,
    UND_ERR_SOCKET: CLOSED,
    UND_ERR_RES_CONTENT_LENGTH_MISMATCH: CLOSED,
    ENOTFOUND: "has a name that is not known",
    EAI_AGAIN: "has a name that can't be looked up at present",
    EHOSTUNREACH: UNREACHABLE,
    ENETUNREACH: UNREACHABLE,
    EADDRNOTAVAIL: UNREACHABLE,
    UND_ERR_DESTROYED: "was given up: the server is stopping",
    UND_ERR_CLOSED: "was given up: the server is stopping",
  }),
);
const TIMEOUTS = new Set(["UND_ERR_CONNECT_TIMEOUT", "ETIMEDOUT"]);
const PARSER_ERROR = "HTTPParserError";
const CERTIFICATE = /CERT|^UNABLE_TO_|^SELF_SIGNED|_SELF_SIGNED_/;
const TLS = /^ERR_SSL_|^ERR_TLS_|^EPROTO$/;

function sentenceFor(code: string): string {
  const known = SENTENCES.get(code);
  if (known) return `${known} (${code})`;
  if (CERTIFICATE.test(code)) return `has a certificate that is not trusted (${code})`;
  if (TLS.test(code)) return `could not agree on TLS (${code})`;
  if (code === PARSER_ERROR) return "answered with something that is not HTTP/1.1";
  return `could not be called (${code})`;
}

/** `host` is what messages name: `http://name:port`. */
export function asOutboundError(error: unknown, host: string): OutboundError {
  if (error instanceof OutboundError) return error;
  const { code: given, name } = error as { code?: unknown; name?: unknown };
  // undici 8.12 leaves the code of its parser's errors empty.
  const code = String(given ?? name);
  if (TIMEOUTS.has(code)) return new OutboundError("timeout", `${host} did not accept a connection in time`, code);
  if (code === "UND_ERR_BODY_TIMEOUT") {
    const message = `${host} began to answer and then sent nothing for ${LIMITS.callIdleSeconds} s`;
    return new OutboundError("timeout", message, code);
  }
  if (code === "UND_ERR_HEADERS_OVERFLOW") {
    const message = `the headers of the answer of ${host} are larger than ${LIMITS.outboundHeaderBytes} bytes`;
    return new OutboundError("too_large", message, code);
  }
  return new OutboundError("network", `${host} ${sentenceFor(code)}`, code);
}
