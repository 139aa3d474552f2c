/** Requests as no client library would send them: any bytes, any headers, given up when the answer takes too long. */
import http from "node:http";

export type Sent = { method?: string; path?: string; headers?: Record<string, string>; body: string | Buffer };
/** `text`: the beginning of it. `isWhole`: it ended before the time was over. */
export type Received = { status: number; type: string; text: string; bytes: number; isWhole: boolean };

/** No answer, or one that stopped. */
export class Unanswered extends Error {}

/** The server reads 64 KiB at once, of which the request line and the headers that Node adds take a part. */
const READ_AT_ONCE_BYTES = 63 * 1024;
const KEPT_CHARACTERS = 4_000_000;

export const jsonHeaders = (token: string | null): Record<string, string> => ({
  "content-type": "application/json",
  ...(token === null ? {} : { authorization: `Bearer ${token}` }),
});

/** `streamMs`: how long an event stream is read. Throws Unanswered after `timeoutMs`. */
export function send(
  {
    url,
    agent,
    timeoutMs = 120_000,
    streamMs = 50,
  }: { url: string; agent: http.Agent; timeoutMs?: number; streamMs?: number },
  { method = "POST", path = "/graphql", headers = {}, body }: Sent,
): Promise<Received> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const sentBytes = Object.entries(headers).join("\r\n").length + Buffer.byteLength(body);
    // With GET and HEAD Node would send it without saying so.
    const length = Buffer.byteLength(body);
    const all = length > 0 ? { "content-length": `${length}`, ...headers } : headers;
    const request = http.request({ hostname, port, path, method, headers: all, agent });
    const timer = setTimeout(() => request.destroy(new Unanswered(`no answer within ${timeoutMs} ms`)), timeoutMs);
    request.on("error", (error) => {
      clearTimeout(timer);
      // Who is refused before the body has been read may lose the answer with the connection.
      if (sentBytes > READ_AT_ONCE_BYTES && !(error instanceof Unanswered)) {
        return resolve({ status: 0, type: "", text: "", bytes: 0, isWhole: false });
      }
      reject(error instanceof Unanswered ? error : new Unanswered(error.message));
    });
    request.on("response", (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      const done = (isWhole: boolean): void => {
        clearTimeout(timer);
        clearTimeout(cut);
        const text = Buffer.concat(chunks).toString();
        resolve({ status: response.statusCode!, type: response.headers["content-type"] ?? "", text, bytes, isWhole });
      };
      response.on("data", (chunk: Buffer) => {
        if (bytes < KEPT_CHARACTERS) chunks.push(chunk);
        bytes += chunk.length;
      });
      response.on("end", () => done(true));
      response.on("error", () => done(false));
      const isStream = response.headers["content-type"]?.startsWith("text/event-stream");
      const cut = isStream ? setTimeout(() => (done(false), request.destroy()), streamMs) : undefined;
    });
    request.end(body);
  });
}
