/** Everything over HTTP that is not GraphQL: Hono on the same server. */
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import type { Auth } from "../auth/auth.ts";
import { publicKeys } from "../auth/key-set.ts";
import type { Graphql } from "../graphql/graphql.ts";
import { messageOf } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Log } from "../lib/log.ts";
import { sendError, writeHead, type Exchange } from "./answer.ts";
import { readFiles, type WebFile } from "./files.ts";
import type { SecurityHeaders } from "./security-headers.ts";

export type Pages = (exchange: Exchange) => void;

export type PagesOptions = { webFolder: string; auth: Auth; graphql: Graphql; log: Log };

/** Who keeps the keys for half of the time between a key's publication and its first signature misses none. */
const KEYS_KEPT_SECONDS = LIMITS.signingKeyGraceSeconds / 2;

const fileHeaders = ({ type, isHashed }: WebFile, { page }: SecurityHeaders): Record<string, string> => ({
  ...page,
  "content-type": type,
  "cache-control": isHashed ? "public, max-age=31536000, immutable" : "no-cache",
});

export function createPages({ webFolder, auth, graphql, log }: PagesOptions): Pages {
  const app = new Hono<{ Bindings: { exchange: Exchange } }>({
    // Below the public URL's path, which a proxy may leave in.
    getPath: (_request, options) => options!.env!.exchange.path,
  });
  const files = readFiles(webFolder);

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
    const { path, secure } = context.env.exchange;
    const file = files.get(path);
    return file ? context.body(await file.read(), 200, fileHeaders(file, secure)) : next();
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
    const answer = getRequestListener((request) => app.fetch(request, { exchange }), { overrideGlobalObjects: false });
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
