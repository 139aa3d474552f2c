/**
 * Attacks by how HTTP is written, as a table: the bytes of a connection, and how they are answered. Behind each stands one more
 * request, which is answered only where the connection is still of one mind with its client about where a request ends. Most
 * carry a request in what ought to be a body: it must never be answered.
 */
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";

/**
 * `answers`: the statuses, in order, and `last` for the request behind; otherwise the connection is closed. `ends`: the client
 * has no more to say.
 */
export type HttpAttack = { what: string; bytes: string | Buffer; answers: readonly string[]; ends?: true };

export const QUERY = '{"query":"{ __typename }"}';
const SMUGGLED = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-request-id: smuggled\r\n\r\n";
/** The request that a client means, and what a server behind a careless proxy would take for the next one. */
const CHUNKED = `0\r\n\r\n${SMUGGLED}`;

const lines = (...all: string[]): string => all.map((line) => `${line}\r\n`).join("");
export const head = (...headers: string[]): string =>
  lines("POST /graphql HTTP/1.1", "host: localhost", "content-type: application/json", ...headers, "");
export const get = (target: string, ...headers: string[]): string =>
  lines(`GET ${target} HTTP/1.1`, "host: localhost", ...headers, "");
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const chunked = (body: string, ...headers: string[]): string => head("transfer-encoding: chunked", ...headers) + body;

const row = (what: string, bytes: string | Buffer, ...statuses: number[]): HttpAttack => ({
  what,
  bytes,
  answers: [statuses.join(" ")],
});
const open = (what: string, bytes: string | Buffer, ...statuses: number[]): HttpAttack => ({
  what,
  bytes,
  answers: [`${statuses.join(" ")} last`],
});
/** Nothing more comes. */
const ended = (what: string, bytes: string, ...statuses: number[]): HttpAttack => ({
  ...row(what, bytes, ...statuses),
  ends: true,
});
/** Answered before its body was read: closed, unless all of the body had come by then. */
const unread = (what: string, bytes: string | Buffer, status: number): HttpAttack => ({
  what,
  bytes,
  answers: [`${status}`, `${status} last`],
});

/** Two ways to say where the body ends. */
const framing: HttpAttack[] = [
  row("a length and chunks", head(`content-length: ${CHUNKED.length}`, "transfer-encoding: chunked") + CHUNKED, 400),
  row("chunks and a length", head("transfer-encoding: chunked", `content-length: ${CHUNKED.length}`) + CHUNKED, 400),
  row("chunks and a length of 0", head("transfer-encoding: chunked", "content-length: 0") + CHUNKED, 400),
  row("two lengths", head("content-length: 0", `content-length: ${SMUGGLED.length}`) + SMUGGLED, 400),
  row(
    "two lengths that are the same",
    head(`content-length: ${QUERY.length}`, `content-length: ${QUERY.length}`) + QUERY,
    400,
  ),
  row("two lengths in one line", head(`content-length: 0, ${SMUGGLED.length}`) + SMUGGLED, 400),
  row("chunks twice", head("transfer-encoding: chunked", "transfer-encoding: chunked") + CHUNKED, 400),
  row("chunks and then something else", head("transfer-encoding: chunked, identity") + CHUNKED, 400),
  row("chunks that are not the last", head("transfer-encoding: chunked", "transfer-encoding: identity") + CHUNKED, 400),
  row("identity", head("transfer-encoding: identity", `content-length: ${SMUGGLED.length}`) + SMUGGLED, 400),
  row("identity alone", head("transfer-encoding: identity") + QUERY, 501),
  row("xchunked", head("transfer-encoding: xchunked") + CHUNKED, 501),
  row("a tab and xchunked", head("transfer-encoding:\tx, chunked, x") + CHUNKED, 400),
  row("chunked in quotes", head('transfer-encoding: "chunked"') + CHUNKED, 501),
  row("chunked behind a vertical tab", head("transfer-encoding: \vchunked") + CHUNKED, 400),
  row("chunked with a parameter", head("transfer-encoding: chunked;q=1") + CHUNKED, 501),
  row("an empty transfer-encoding", head("transfer-encoding: ", `content-length: ${SMUGGLED.length}`) + SMUGGLED, 400),
  row(
    "gzip and chunked: another coding than chunked",
    head("transfer-encoding: gzip, chunked") + chunk(QUERY) + "0\r\n\r\n",
    501,
  ),
  open("Chunked, in capitals", head("transfer-encoding: CHUNKED") + chunk(QUERY) + "0\r\n\r\n", 200),
  row("chunks in HTTP/1.0", head("transfer-encoding: chunked").replace("1.1", "1.0") + CHUNKED, 400),
  row("a folded line", head("transfer-encoding:", " chunked") + CHUNKED, 400),
  row("a folded line behind another header", head("x: y", " transfer-encoding: chunked") + CHUNKED, 400),
  row(
    "a folded first line",
    lines("POST /graphql HTTP/1.1", " transfer-encoding: chunked", "host: localhost", "") + CHUNKED,
    400,
  ),
  row("a space before the colon", head("transfer-encoding : chunked") + CHUNKED, 400),
  row("a tab before the colon", head("content-length\t: 5") + SMUGGLED, 400),
  row("NUL in a name", head("transfer-encoding\0: chunked") + CHUNKED, 400),
  row("NUL in a value", head("transfer-encoding: chun\0ked") + CHUNKED, 400),
  row("a line without a colon", head("transfer-encoding chunked") + CHUNKED, 400),
  row("a line without a name", head(": chunked") + CHUNKED, 400),
  row("a name in quotes", head('"transfer-encoding": chunked') + CHUNKED, 400),
  row("a letter beyond ASCII in a name", head("tränsfer-encoding: chunked") + CHUNKED, 400),
  row("a carriage return in a value", head("x: a\rtransfer-encoding: chunked") + CHUNKED, 400),
  row("line feeds alone", `POST /graphql HTTP/1.1\nhost: localhost\ntransfer-encoding: chunked\n\n${CHUNKED}`, 400),
  row("a line feed alone behind a header", head("x: y\ntransfer-encoding: chunked") + CHUNKED, 400),
  row(
    "a line feed alone at the end of the head",
    `${head("transfer-encoding: chunked").slice(0, -2)}\n${CHUNKED}`,
    400,
  ),
  row("carriage returns alone", head("transfer-encoding: chunked").replaceAll("\n", "") + CHUNKED, 400),
];

const lengths: HttpAttack[] = [
  "-1",
  "+27",
  "0x1b",
  "1e2",
  "27 27",
  "2_7",
  "२७",
  "",
  "99999999999999999999999",
  "27;x",
  "27,",
  "NaN",
].map((length) => row(`the length ${length || "(nothing)"}`, head(`content-length: ${length}`) + QUERY, 400));
const bodies: HttpAttack[] = [
  ...lengths,
  row("a length beyond 1 MiB", head("content-length: 1048577") + QUERY, 413),
  row("a length of 2^53", head("content-length: 9007199254740993") + QUERY, 413),
  ended("a length that is too long, and then the end", head(`content-length: ${QUERY.length + 9}`) + QUERY, 400),
  row("a length that is too short", head(`content-length: ${QUERY.length - 1}`) + QUERY, 400),
  open("a length of 0", head("content-length: 0"), 400),
  open("no body at all", head(), 400),
  open("a body with leading zeros in its length", head(`content-length: 000${QUERY.length}`) + QUERY, 200),
  unread("GET with a body", get("/healthz", `content-length: ${SMUGGLED.length}`) + SMUGGLED, 200),
  unread("GET with chunks", get("/graphql", "transfer-encoding: chunked") + chunk(SMUGGLED) + "0\r\n\r\n", 405),
  ended("half a head", "POST /graphql HTTP/1.1\r\nhost: local", 400),
  ended("half a request line", "POST /gra", 400),
  ended("half a chunk", chunked(`${QUERY.length.toString(16)}\r\n{"query"`), 400),
  ended("chunks without an end", chunked(chunk(QUERY)), 400),
  ended("nothing at all", ""),
];

const chunks: HttpAttack[] = [
  ...["g", "-1", "+1a", "0x1a", " 1a", "1a 1a", "", "fffffffffffffffff", "1.5", "१"].map((size) =>
    row(`a chunk of ${size || "(nothing)"} bytes`, chunked(`${size}\r\n${QUERY}\r\n${CHUNKED}`), 400),
  ),
  row("a chunk that is longer than it says", chunked(`5\r\n${QUERY}\r\n${CHUNKED}`), 400),
  row("a chunk without its end of line", chunked(`${QUERY.length.toString(16)}\r\n${QUERY}${CHUNKED}`), 400),
  row("chunks with line feeds alone", chunked(`${QUERY.length.toString(16)}\n${QUERY}\n${CHUNKED}`), 400),
  row("a line feed alone behind a chunk's size", chunked(`${QUERY.length.toString(16)};\n${QUERY}\r\n${CHUNKED}`), 400),
  row("NUL in an extension", chunked(`${QUERY.length.toString(16)};a=\0\r\n${QUERY}\r\n${CHUNKED}`), 400),
  row(
    "a carriage return alone in an extension",
    chunked(`${QUERY.length.toString(16)};a\rb\r\n${QUERY}\r\n${CHUNKED}`),
    400,
  ),
  open("an extension", chunked(`${QUERY.length.toString(16)};name="value"\r\n${QUERY}\r\n0\r\n\r\n`), 200),
  row(
    "extensions of 20 kB",
    chunked(`${QUERY.length.toString(16)};${"x".repeat(20_000)}\r\n${QUERY}\r\n0\r\n\r\n`),
    413,
  ),
  open("a trailer, which is not read", chunked(`${chunk(QUERY)}0\r\nauthorization: Bearer x\r\nhost: x\r\n\r\n`), 200),
  row("a length in a trailer", chunked(`${chunk(QUERY)}0\r\ncontent-length: 500\r\n\r\n`), 400),
  row("a trailer of 20 kB", chunked(`${chunk(QUERY)}0\r\nx: ${"y".repeat(20_000)}\r\n\r\n`), 431),
  row("a trailer that is no header", chunked(`${chunk(QUERY)}0\r\n${SMUGGLED}`), 400),
];

const compressed: HttpAttack[] = (
  [
    ["gzip", gzipSync(QUERY)],
    ["deflate", deflateSync(QUERY)],
    ["br", brotliCompressSync(QUERY)],
    ["zstd", Buffer.from("28b52ffd", "hex")],
    ["identity, gzip", gzipSync(QUERY)],
    ["GZIP", gzipSync(QUERY)],
    ["gzip, but it is plain", Buffer.from(QUERY)],
    ["x", Buffer.from(QUERY)],
    // A bomb: 10 MiB in 10 kB.
    ["gzip of 10 MiB", gzipSync(Buffer.alloc(10 * 1024 * 1024, " "))],
  ] as const
).map(([name, body]) => {
  const encoding = name.split(" but")[0]!.replace(" of 10 MiB", "").replace(/,$/, "");
  return unread(
    `a body in ${name}`,
    Buffer.concat([Buffer.from(head(`content-encoding: ${encoding}`, `content-length: ${body.length}`)), body]),
    415,
  );
});

const START = lines("host: localhost", "");
const firstLines: HttpAttack[] = [
  row("HTTP/0.9", "GET /healthz\r\n\r\n", 505),
  row("HTTP/0.9 without a path", "GET\r\n\r\n", 400),
  row("HTTP/2 without asking", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x12\x04\0\0\0\0\0", 400),
  row("HTTP/2.0", `GET /healthz HTTP/2.0\r\n${START}`, 505),
  row("HTTP/1.2", `GET /healthz HTTP/1.2\r\n${START}`, 400),
  row("HTTP/1.10", `GET /healthz HTTP/1.10\r\n${START}`, 400),
  row("http/1.1", `GET /healthz http/1.1\r\n${START}`, 400),
  row("one word", "NONSENSE\r\n\r\n", 400),
  row("another protocol", `GET /healthz ICE/1.1\r\n${START}`, 400),
  row("TLS", Buffer.from("16030100ea010000e603037d1c", "hex"), 400),
  row("a method that there is not", `SMUGGLE /healthz HTTP/1.1\r\n${START}`, 400),
  row("a method in small letters", `get /healthz HTTP/1.1\r\n${START}`, 400),
  open("two spaces", `GET  /healthz HTTP/1.1\r\n${START}`, 200),
  row("a tab", `GET\t/healthz\tHTTP/1.1\r\n${START}`, 400),
  row("a space in the target", `GET /heal thz HTTP/1.1\r\n${START}`, 400),
  row(
    "a request within the target",
    `GET /healthz HTTP/1.1\nhost: localhost\nx-request-id: smuggled\n\nGET / HTTP/1.1\r\n${START}`,
    400,
  ),
  row("NUL in the target", `GET /heal\0thz HTTP/1.1\r\n${START}`, 400),
  row("no path", `GET HTTP/1.1\r\n${START}`, 400),
  row("a target of 20 kB", `GET /${"a".repeat(20_000)} HTTP/1.1\r\n${START}`, 431),
  row("bytes beyond ASCII in the target", `GET /\xe4 HTTP/1.1\r\n${START}`, 400),
  open("a fragment in the target", `GET /healthz#x HTTP/1.1\r\n${START}`, 404),
  open("lines before the first", `\r\n\r\n${get("/healthz")}`, 200),
  row("a space before the first", ` ${get("/healthz")}`, 400),
  row("the whole URL as the target", get("http://localhost/healthz"), 400),
  row(
    "the whole URL of another host as the target",
    head(`content-length: ${QUERY.length}`).replace("/graphql", "http://evil.example/graphql") + QUERY,
    400,
  ),
  row(
    "the whole URL of this host, with another Host",
    get("http://localhost/graphql").replace("host: localhost", "host: evil.example"),
    400,
  ),
  row("a host and port as the target", get("localhost:80"), 400),
  row("a file as the target", get("file:///etc/passwd"), 400),
  row("CONNECT", `CONNECT evil.example:443 HTTP/1.1\r\n${START}`),
  row("OPTIONS *", `OPTIONS * HTTP/1.1\r\n${START}`, 400),
  row("GET *", get("*"), 400),
  open(
    "TRACE, which would send a credential back",
    `TRACE /graphql HTTP/1.1\r\nauthorization: Bearer secret\r\n${START}`,
    405,
  ),
  open("PUT", `PUT /graphql HTTP/1.1\r\n${START}`, 405),
  open("DELETE of a page", `DELETE / HTTP/1.1\r\n${START}`, 404),
];

const fields = (count: number): string[] => Array.from({ length: count }, (_, index) => `x-${index}: y`);
const headers: HttpAttack[] = [
  row("no Host", lines("GET /graphql HTTP/1.1", ""), 400),
  row("no Host in HTTP/1.0", lines("GET /graphql HTTP/1.0", ""), 400),
  open("an empty Host", get("/").replace("host: localhost", "host:"), 421),
  open("another Host", get("/").replace("localhost", "evil.example"), 421),
  row("two Hosts", get("/", "host: evil.example"), 400),
  row("the same Host twice", get("/", "host: localhost"), 400),
  open("a user in the Host", get("/").replace("localhost", "localhost@evil.example"), 421),
  open("this Host as the user of another", get("/").replace("localhost", "evil.example#@localhost"), 421),
  open("two names in one Host", get("/").replace("localhost", "localhost, evil.example"), 421),
  open("a path in the Host", get("/").replace("localhost", "localhost/x"), 421),
  open("a dot at the end of the Host", get("/").replace("localhost", "localhost."), 421),
  open("a number of this host", get("/").replace("localhost", "0x7f000001"), 421),
  open("all addresses", get("/").replace("localhost", "0.0.0.0"), 421),
  open(
    "another Host by X-Forwarded-Host",
    get("/graphql", "x-forwarded-host: evil.example", "forwarded: host=evil.example"),
    405,
  ),
  unread(
    "a type with an underscore is none",
    head(`content-length: ${QUERY.length}`).replace("content-type", "content_type") + QUERY,
    415,
  ),
  open(
    "a length with an underscore is none",
    head(`content_length: ${SMUGGLED.length}`) + SMUGGLED.replace("smuggled", "meant"),
    400,
    200,
  ),
  row("headers of 20 kB", get("/healthz", `x: ${"y".repeat(20_000)}`), 431),
  row("a name of 20 kB", get("/healthz", `${"x".repeat(20_000)}: y`), 431),
  row("100 and one more headers", get("/healthz", ...fields(100)), 431),
  row("1,000 headers", get("/healthz", ...fields(1_000)), 431),
  row(
    "HEAD with 101 headers and a body",
    head(...fields(100), "content-length: 9").replace("POST", "HEAD") + "nine ones",
    431,
  ),
  row(
    "a body that nobody sees behind 101 headers",
    head(...fields(100), `content-length: ${SMUGGLED.length}`) + SMUGGLED,
    431,
  ),
  row("a control character in a value", get("/healthz", "x-request-id: a\x01b"), 400),
  open("bytes beyond ASCII in a value", get("/healthz", "x-request-id: \xff\xfe"), 200),
  open("a name of nothing but dots and dashes", get("/healthz", "..--: y"), 200),
  open(
    "a connection that names its own headers",
    get("/graphql", "connection: host, content-length, authorization"),
    405,
  ),
];

const upgrades: HttpAttack[] = [
  row(
    "a WebSocket by POST",
    head(
      "connection: upgrade",
      "upgrade: websocket",
      "sec-websocket-version: 13",
      "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    ),
    405,
  ),
  row(
    "a WebSocket without a key",
    get("/graphql", "connection: upgrade", "upgrade: websocket", "sec-websocket-version: 13"),
    400,
  ),
  row(
    "a WebSocket of version 7",
    get(
      "/graphql",
      "connection: upgrade",
      "upgrade: websocket",
      "sec-websocket-version: 7",
      "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    ),
    400,
  ),
  row(
    "a WebSocket at another path, with a request behind it",
    get(
      "/healthz",
      "connection: upgrade",
      "upgrade: websocket",
      "sec-websocket-version: 13",
      "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    ) + SMUGGLED,
    404,
  ),
  row(
    "a WebSocket that is refused, with a request behind it",
    get(
      "/graphql",
      "origin: https://evil.example",
      "connection: upgrade",
      "upgrade: websocket",
      "sec-websocket-version: 13",
      "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    ) + SMUGGLED,
    403,
  ),
  row(
    "a WebSocket that is asked for wrong, with a request behind it",
    get("/graphql", "connection: upgrade", "upgrade: websocket") + SMUGGLED,
    400,
  ),
  open("Expect: 100-continue", head("expect: 100-continue", `content-length: ${QUERY.length}`) + QUERY, 100, 200),
  row("Expect: 100-continue for too much", head("expect: 100-continue", "content-length: 2000000"), 413),
  open("an unknown Expect", head("expect: x", `content-length: ${QUERY.length}`) + QUERY, 200),
];

const pipelined: HttpAttack[] = [
  open("three requests at once", get("/healthz").repeat(3), 200, 200, 200),
  // The answer to the first may be on its way already.
  {
    what: "one that is broken between two",
    bytes: `${get("/healthz")}GET /healthz HTTP/1.1\r\nbroken\r\n\r\n${SMUGGLED}`,
    answers: ["200", "200 400", "400"],
  },
  row("one behind the last", get("/healthz", "connection: close") + SMUGGLED, 200),
  row("one behind HTTP/1.0", get("/healthz").replace("1.1", "1.0") + SMUGGLED, 200),
  row("one behind a body that is not read", head("content-length: 60000").replace("json", "text") + SMUGGLED, 415),
  row(
    "one within a body that is refused",
    head(`content-length: ${SMUGGLED.length}`).replace("json", "text") + SMUGGLED,
    415,
  ),
];

export const HTTP_ATTACKS: readonly HttpAttack[] = [
  ...framing,
  ...bodies,
  ...chunks,
  ...compressed,
  ...firstLines,
  ...headers,
  ...upgrades,
  ...pipelined,
];
