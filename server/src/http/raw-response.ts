/** Answers written to the connection itself: where node:http has no response, or would write one of its own. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Code } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";
import { STATUS_CODES } from "./node-http.ts";
import type { SecurityHeaders } from "./security-headers.ts";

type RefusedUpgrade = 400 | 403 | 404 | 405 | 421 | 431 | 501 | 503 | 505;

/** `more`: lines of header fields. */
export function refuseUpgrade(socket: Duplex, status: RefusedUpgrade, { lines }: SecurityHeaders, more = ""): void {
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\n`;
  const own = status === 503 ? `${more}retry-after: 1\r\n` : more;
  socket.end(`${head}content-length: 0\r\n${lines}${own}\r\n`);
}

/** A handshake that `ws` does not take. */
export function refuseHandshake(request: IncomingMessage, socket: Duplex, secure: SecurityHeaders): void {
  if (request.method !== "GET") return refuseUpgrade(socket, 405, secure, "allow: GET\r\n");
  refuseUpgrade(socket, 400, secure, "sec-websocket-version: 13\r\n");
}

/** Problems that node:http found in the bytes of a connection, by its own codes; anything else is not HTTP. */
const UNREADABLE = new Map<string | undefined, [status: number, code: Code, message: string]>([
  [
    "HPE_HEADER_OVERFLOW",
    [
      431,
      "BAD_REQUEST",
      `the request has more than ${LIMITS.headersPerRequest} header fields, or more than ${LIMITS.headerBytes} bytes of them`,
    ],
  ],
  ["HPE_CHUNK_EXTENSIONS_OVERFLOW", [413, "REQUEST_ENTITY_TOO_LARGE", "the request's chunk extensions are too large"]],
  [
    "ERR_HTTP_REQUEST_TIMEOUT",
    [
      408,
      "BAD_REQUEST",
      `the request did not arrive in time: send its header within ${LIMITS.headersSeconds} s, all of it within ${LIMITS.requestArrivalSeconds} s`,
    ],
  ],
]);
const NOT_HTTP: [number, Code, string] = [400, "BAD_REQUEST", "this is not a request of HTTP/1.1"];

type Answering = { _httpMessage?: ServerResponse | null };
/** `rawPacket`: what was read last. */
type Unreadable = NodeJS.ErrnoException & { rawPacket?: Buffer };

/** As Node would, with our headers and a body: nothing when an answer has begun, which it would corrupt. */
export function refuseUnreadable(error: Unreadable, socket: Duplex, { lines }: SecurityHeaders): void {
  const { _httpMessage: answering } = socket as Answering;
  if (socket.writable && !answering?.headersSent) {
    const [status, code, message] = UNREADABLE.get(error.code) ?? NOT_HTTP;
    const body = JSON.stringify({ errors: [{ message, extensions: { code } }] });
    const type = "content-type: application/json; charset=utf-8\r\n";
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\n${type}content-length: ${body.length}\r\n`;
    // An answer to HEAD has no body.
    const isHead = error.rawPacket?.toString("latin1", 0, 5) === "HEAD ";
    socket.write(`${head}${lines}\r\n${isHead ? "" : body}`);
  }
  socket.destroy();
}
