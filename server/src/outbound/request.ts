/** A caller's request, and the checks before anything is resolved or sent. */
import type { OrganizationId } from "../lib/ids.ts";
import type { IsEnough } from "./answer.ts";
import { parseUrl } from "../lib/parse-url.ts";
import { RESERVED_HEADERS } from "../lib/reserved-headers.ts";
import { OutboundError, OutboundRefused } from "./errors.ts";

export type OutboundResponse = {
  status: number;
  statusText: string;
  /** The last request's, if redirects were followed. */
  url: string;
  /** Names in lower case, without `set-cookie`. */
  headers: Record<string, string>;
  /** The value of each `Set-Cookie`. */
  setCookies: readonly string[];
  /** At most `mostBytes` of the request, gzip and br unpacked. */
  body: Uint8Array;
};

export type OutboundRequest = {
  /** The organization that calls: connections are shared, and look-ups of names queue, within it only. */
  organizationId: OrganizationId;
  /** Any HTTP method except CONNECT, TRACE and TRACK; case does not matter. */
  method: string;
  /** Absolute, http or https, without user name and password. */
  url: string;
  headers: Record<string, string>;
  body?: string | Uint8Array | undefined;
  confidential?: Confidential | undefined;
  /** Whether to follow 301, 302, 303, 307 and 308 (at most `LIMITS.outboundRedirects`) or return them as they are. */
  redirect: boolean;
  /** Ends the call at once: the socket is closed and the promise rejects with the signal's reason. */
  signal: AbortSignal;
  /** For the whole call: waiting for a connection, redirects and reading included. */
  timeoutMs: number;
  /** The time limit that the error names: of all requests, if this is one of several. */
  limitMs?: number;
  /** The maximum of the answer's body; `LIMITS.outputBytes` unless given. */
  mostBytes?: number;
  /** Called when the answer or the error has come: the caller gets it once this resolves, at once if undefined. */
  turn?: () => Promise<void> | undefined;
  /** Called when a request has a connection and is about to be written: from then on nobody knows what the other side has done. */
  sent?: (() => void) | undefined;
  /** Makes, for each request that is sent, what ends its answer early. */
  isEnough?: () => IsEnough;
  /** Parses the answer, whose body counts as held until this resolves. */
  taken?: (response: OutboundResponse) => Promise<void>;
  /**
   * Called when an answer begins whose body is not packed. What it returns takes the body as it comes, however large, and the
   * answer has none. Undefined: the body is collected.
   */
  stream?: ((head: ResponseHead) => BodySink | undefined) | undefined;
};

/** The parts of a request that hold secrets. They go to no other origin, and no log names the host. `headers`: in lower case. */
export type Confidential = { url: boolean; headers: ReadonlySet<string>; body: boolean };

export type ResponseHead = Pick<OutboundResponse, "status" | "headers">;

export type BodySink = {
  /** The wire waits for the promise. What this throws ends the call. */
  take(piece: Buffer): Promise<void> | undefined;
  /** The part of the body that it keeps, which is charged as the body of an answer that is collected. */
  readonly keptBytes: number;
};

/** A request that may be sent: header names in lower case, the URL without fragment. */
export type CheckedRequest = {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body: string | Uint8Array | undefined;
  confidential: Confidential | undefined;
};

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const REFUSED_METHODS = new Set(["CONNECT", "TRACE", "TRACK"]);

export function checkRequest(request: OutboundRequest): CheckedRequest {
  const { body, confidential } = request;
  const method = request.method.toUpperCase();
  if (!TOKEN.test(method) || REFUSED_METHODS.has(method))
    throw bad("the method of the call is not one that can be sent");
  const url = checkUrl(request.url, { isSecret: confidential?.url });
  return { method, url, headers: checkHeaders(request.headers), body, confidential };
}

type Address = { what?: string; base?: URL | undefined; isSecret?: boolean | undefined };

/** `what` names the address in messages, which do not repeat it: it may hold credentials. */
export function checkUrl(text: string, { what = "the address of the call", base, isSecret }: Address = {}): URL {
  const url = parseUrl(text, base?.href);
  if (!url) throw bad(`${what} is not a valid URL`);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    // A redirect's target is the other side's text, and may be a credential. What stands before a colon may be a part of a secret.
    const found = base || isSecret ? "" : `, not ${url.protocol.slice(0, 20)}`;
    throw new OutboundRefused(`${what} is refused: only http and https can be called${found}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new OutboundRefused(`${what} is refused: it holds a user name or password; send an Authorization header`);
  }
  if (url.hash !== "") url.hash = "";
  return url;
}

function checkHeaders(headers: Record<string, string>): Record<string, string> {
  const checked: [name: string, value: string][] = [
    ["user-agent", "autograph"],
    ["accept-encoding", "gzip, br"],
  ];
  for (const [given, value] of Object.entries(headers)) {
    const name = given.toLowerCase();
    if (!TOKEN.test(name)) throw bad("a header of the call has a name that can't be sent");
    if (RESERVED_HEADERS.has(name))
      throw bad(`the header ${name} can't be set: it follows from the address and the body`);
    if (!HEADER_VALUE.test(value)) throw bad(`the value of the header ${name} has characters that can't be sent`);
    checked.push([name, value]);
  }
  return Object.fromEntries(checked);
}

const bad = (message: string): OutboundError => new OutboundError("bad_request", message);
