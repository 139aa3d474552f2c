/** Headers that frame a request or choose the server: they follow from its URL and body, and nobody may set them. */
export const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "proxy-connection",
  "upgrade",
  "expect",
  "te",
  "trailer",
]);
