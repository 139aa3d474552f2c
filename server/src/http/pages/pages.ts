/** Everything over HTTP that is not GraphQL: Hono on the same server. */
import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { getRequestListener, RequestError } from "@hono/node-server";
import { Hono, type Context } from "hono";
import type { Auth } from "../../auth/handle/auth.ts";
import { publicKeys } from "../../auth/tokens/key-set.ts";
import type { Graphql } from "../../graphql/graphql.ts";
import { messageOf } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Log } from "../../lib/log/log.ts";
import { sendError, writeHead, type Exchange } from "../write-response.ts";
import { encodingFor, readFiles, type WebFile } from "./files.ts";

export type Pages = (exchange: Exchange) => void;

type PagesOptions = {
  webFolder: string;
  publicUrl: string | undefined;
  auth: Auth;
  graphql: Graphql;
  log: Log;
};

type Asked = Context<{ Bindings: { exchange: Exchange } }>;

/** Who keeps the keys for half of the time between a key's publication and its first signature misses none. */
const KEYS_KEPT_SECONDS = LIMITS.signingKeyGraceSeconds / 2;

const newNonce = (): string => randomBytes(16).toString("base64");

/** A file that is the same for everybody. */
async function sendFile(context: Asked, file: WebFile): Promise<Response> {
  const encoding = encodingFor(file, context.req.header("accept-encoding"));
  return context.body(await file.read(encoding), 200, {
    ...context.env.exchange.secure.page(newNonce()),
    "content-type": file.type,
    "cache-control": file.isHashed ? "public, max-age=31536000, immutable" : "no-cache",
    ...(file.encodings.length > 0 && { vary: "Accept-Encoding" }),
    ...(encoding && { "content-encoding": encoding }),
  });
}

/** In the built page, for the nonce of an answer (web/vite.config.ts). */
const NONCE = "__CSP_NONCE__";

/** Of the built page, for paths of any depth: its files' URLs begin at `prefix`. */
const withPrefix = (html: string, prefix: string): string => html.replaceAll('="./', () => `="${prefix}/`);

/** A browser that was given an address of the UI, whose router knows what is there. */
export const wantsPage = ({ method, headers }: IncomingMessage): boolean =>
  (method === "GET" || method === "HEAD") && /\btext\/html\b/.test(headers.accept ?? "");

export function createPages({ webFolder, publicUrl, auth, graphql, log }: PagesOptions): Pages {
  const app = new Hono<{ Bindings: { exchange: Exchange } }>({
    // Below the public URL's path, which a proxy may leave in.
    getPath: (_request, options) => options!.env!.exchange.path,
  });
  const files = readFiles(webFolder);
  const prefix = publicUrl === undefined ? "" : new URL(publicUrl).pathname.replace(/\/$/, "");
  let page: Promise<string> | undefined;

  const sendPage = async (context: Asked): Promise<Response | undefined> => {
    const index = files.get("/index.html");
    if (!index) return undefined;
    page ??= index.read().then((bytes) => withPrefix(new TextDecoder().decode(bytes), prefix));
    const nonce = newNonce();
    const headers = {
      ...context.env.exchange.secure.page(nonce),
      "content-type": index.type,
      "cache-control": "no-cache",
    };
    return context.body((await page).replaceAll(NONCE, nonce), 200, headers);
  };

  app.use(async (context, next) => {
    await next();
    const { requestId, secure } = context.env.exchange;
    const { headers } = context.res;
    headers.set("x-request-id", requestId);
    for (let at = 0; at < secure.api.length; at += 2)
      if (!headers.has(secure.api[at]!)) headers.set(secure.api[at]!, secure.api[at + 1]!);
  });
  app.get("/.well-known/jwks.json", async (context) => {
    const keys = JSON.stringify(await publicKeys(auth));
    const headers = {
      "cache-control": `public, max-age=${KEYS_KEPT_SECONDS}`,
      "content-type": "application/jwk-set+json",
      // Also for HEAD.
      "content-length": String(keys.length),
    };
    return context.body(keys, 200, headers);
  });
  app.get("*", async (context, next) => {
    const { path } = context.env.exchange;
    const file = path === "/index.html" ? undefined : files.get(path);
    if (file) return sendFile(context, file);
    const isPage = path === "/" || wantsPage(context.env.exchange.request);
    return (isPage && (await sendPage(context))) || next();
  });
  app.notFound((context) =>
    context.json({ errors: [{ message: "there is nothing at this path", extensions: { code: "NOT_FOUND" } }] }, 404),
  );

  app.onError(async (error, context) => {
    const { code, result } = await graphql.refuse(error, { caller: () => undefined }, context.env.exchange.requestId);
    return context.json(
      result,
      code === "UNAVAILABLE" ? 503 : 500,
      code === "UNAVAILABLE" ? { "retry-after": "1" } : {},
    );
  });

  return (exchange) => {
    // The page's own URLs are relative, so its path must end with a slash.
    if (exchange.path === "") {
      const location = exchange.request.url!.replace(/(?=\?|$)/, "/");
      writeHead(exchange, 308, undefined, 0, { location });
      return void exchange.response.end();
    }
    const errorHandler = (error: unknown): void => {
      if (!(error instanceof RequestError)) throw error;
      // Such as one with a backslash. Without this it is answered without any of our headers.
      sendError(exchange, 400, "BAD_REQUEST", "the request's target must be a path");
    };
    const answer = getRequestListener((request) => app.fetch(request, { exchange }), {
      overrideGlobalObjects: false,
      errorHandler,
    });
    answer(exchange.request, exchange.response).catch((error: unknown) => {
      log.error({ requestId: exchange.requestId, reason: messageOf(error) }, "a page failed");
      sendError(
        exchange,
        500,
        "INTERNAL_SERVER_ERROR",
        `internal error; the server's log has it under the request id ${exchange.requestId}`,
      );
    });
  };
}
