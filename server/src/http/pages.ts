/** Everything over HTTP that is not GraphQL: Hono on the same server. */
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { sendError, type Exchange } from "./answer.ts";
import { readFiles, type WebFile } from "./files.ts";

export type Pages = (exchange: Exchange) => void;

export type PagesOptions = { webFolder: string; log: Log };

/** The page has no inline script or style and talks to its own server only. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const fileHeaders = ({ type, isHashed }: WebFile): Record<string, string> => ({
  "content-type": type,
  "cache-control": isHashed ? "public, max-age=31536000, immutable" : "no-cache",
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
});

export function createPages({ webFolder, log }: PagesOptions): Pages {
  const app = new Hono<{ Bindings: { exchange: Exchange } }>();
  const files = readFiles(webFolder);

  app.use(async (context, next) => {
    await next();
    context.header("x-request-id", context.env.exchange.requestId);
    context.header("x-content-type-options", "nosniff");
  });
  app.get("*", async (context, next) => {
    const file = files.get(context.env.exchange.path);
    return file ? context.body(await file.read(), 200, fileHeaders(file)) : next();
  });
  app.notFound((context) =>
    context.json({ errors: [{ message: "there is nothing at this path", extensions: { code: "NOT_FOUND" } }] }, 404),
  );

  return (exchange) => {
    // The page's own URLs are relative, so its path must end with a slash.
    if (exchange.path === "") {
      const location = exchange.request.url!.replace(/(?=\?|$)/, "/");
      return void exchange.response.writeHead(308, { location, "x-request-id": exchange.requestId }).end();
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
