/** The UI: its page at every address that a browser asks for as one, its files, and the public keys of access tokens. */
import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Auth } from "../../auth/handle/auth.ts";
import { publicKeys } from "../../auth/tokens/key-set.ts";
import type { Graphql } from "../../graphql/graphql.ts";
import { LIMITS } from "../../lib/limits.ts";
import { sendRefusal } from "../http-refusal.ts";
import { isRead } from "../request.ts";
import { sendError, sendText, writeHead, type Exchange } from "../write-response.ts";
import { encodingFor, readFiles, type WebFile } from "./files.ts";

type PagesOptions = { webFolder: string; publicUrl: string | undefined; auth: Auth; graphql: Graphql };

/** Clients that keep the keys for half of the time between a key's publication and its first signature miss none. */
const KEYS_KEPT_SECONDS = LIMITS.signingKeyGraceSeconds / 2;

const newNonce = (): string => randomBytes(16).toString("base64");

/** In the built page, for the nonce of an answer (web/vite.config.ts). */
const NONCE = "__CSP_NONCE__";

/** The built page for paths of any depth: its files' URLs begin at `prefix`. */
const withPrefix = (html: string, prefix: string): string => html.replaceAll('="./', () => `="${prefix}/`);

/** A browser that was given an address of the UI, whose router knows what is there. */
export const wantsPage = ({ method, headers }: IncomingMessage): boolean =>
  isRead(method) && /\btext\/html\b/.test(headers.accept ?? "");

export function createPages({
  webFolder,
  publicUrl,
  auth,
  graphql,
}: PagesOptions): (exchange: Exchange) => Promise<void> {
  const files = readFiles(webFolder);
  const index = files.get("/index.html");
  const prefix = publicUrl === undefined ? "" : new URL(publicUrl).pathname.replace(/\/$/, "");
  let page: string | undefined;

  const sendPage = async (exchange: Exchange, { type, read }: WebFile): Promise<void> => {
    page ??= withPrefix(new TextDecoder().decode(await read()), prefix);
    const nonce = newNonce();
    const headers = { ...exchange.secure.page(nonce), "content-type": type, "cache-control": "no-cache" };
    sendText(exchange, 200, page.replaceAll(NONCE, nonce), headers);
  };

  const send = async (exchange: Exchange): Promise<void> => {
    const { path, request } = exchange;
    // The page's own URLs are relative, so its path must end with a slash.
    if (path === "") return redirect(exchange, request.url!.replace(/(?=\?|$)/, "/"));
    if (path.includes("\\")) return sendError(exchange, 400, "BAD_REQUEST", "the request's target must be a path");
    if (isRead(request.method)) {
      if (path === "/.well-known/jwks.json") return sendKeys(exchange, auth);
      const file = path === "/index.html" ? undefined : files.get(path);
      if (file) return sendFile(exchange, file);
      if (index && (path === "/" || wantsPage(request))) return sendPage(exchange, index);
    }
    sendError(exchange, 404, "NOT_FOUND", "there is nothing at this path");
  };

  return (exchange) => send(exchange).catch((error: unknown) => sendRefusal(graphql, exchange, error));
}

function redirect(exchange: Exchange, location: string): void {
  writeHead(exchange, 308, undefined, 0, { location });
  exchange.response.end();
}

async function sendKeys(exchange: Exchange, auth: Auth): Promise<void> {
  const headers = {
    "cache-control": `public, max-age=${KEYS_KEPT_SECONDS}`,
    "content-type": "application/jwk-set+json",
  };
  sendText(exchange, 200, JSON.stringify(await publicKeys(auth)), headers);
}

/** A file that is the same for everybody. */
async function sendFile(exchange: Exchange, file: WebFile): Promise<void> {
  const { "accept-encoding": accepted } = exchange.request.headers;
  const encoding = encodingFor(file, Array.isArray(accepted) ? accepted.join() : accepted);
  sendText(exchange, 200, await file.read(encoding), {
    ...exchange.secure.page(newNonce()),
    "content-type": file.type,
    "cache-control": file.isHashed ? "public, max-age=31536000, immutable" : "no-cache",
    ...(file.encodings.length > 0 && { vary: "Accept-Encoding" }),
    ...(encoding && { "content-encoding": encoding }),
  });
}
