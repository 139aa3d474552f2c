/** Small real services that check who calls them: by digest, and by tokens that they give out. */
import { hash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** A service that asks for a digest, checks it by itself, and lets each nonce be used once. */
export function digestService(algorithm: "MD5" | "SHA-256", password: string) {
  const nonces = new Set<string>();
  const seen: { key: string | undefined; body: string; authorized: boolean }[] = [];
  const digest = (value: string): string => hash(algorithm.replace("-", "").toLowerCase(), value, "hex");
  const isRight = (request: IncomingMessage, field: (name: string) => string): boolean => {
    const login = digest(`${field("username")}:${field("realm")}:${password}`);
    const asked = digest(`${request.method}:${request.url}`);
    const middle = ["nonce", "nc", "cnonce", "qop"].map(field).join(":");
    return field("response") === digest(`${login}:${middle}:${asked}`) && field("uri") === request.url;
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { authorization = "" } = request.headers;
    const field = (name: string): string => {
      const [, quoted, plain] = new RegExp(`\\b${name}=(?:"([^"]*)"|([^,]*))`).exec(authorization) ?? [];
      return quoted ?? plain ?? "";
    };
    const isKnown = nonces.delete(field("nonce"));
    const authorized = isKnown && isRight(request, field) && field("nonce") !== "stale";
    seen.push({ key: request.headers["idempotency-key"] as string, body: await text(request), authorized });
    if (authorized) return void response.end(JSON.stringify({ password, authorization }));
    // The first nonce of all is too old when it comes back.
    const nonce = seen.length === 1 ? "stale" : randomBytes(8).toString("hex");
    nonces.add(nonce);
    const stale = field("nonce") === "stale" ? ", stale=true" : "";
    response.writeHead(401, {
      "www-authenticate": [
        'Basic realm="shop"',
        `Digest realm="shop, inc", nonce="${nonce}", qop="auth,auth-int", algorithm=${algorithm}${stale}`,
      ],
    });
    response.end("no");
  };
  return { seen, server: createServer((request, response) => void answer(request, response)) };
}

/** An authority, and a service that takes its tokens. */
export function tokenService(client: { id: string; secret: string }) {
  const asked: { headers: IncomingMessage["headers"]; body: string }[] = [];
  const valid = new Set<string>();
  const given: string[] = [];
  const isClient = (headers: IncomingMessage["headers"], body: string): boolean => {
    if (headers.authorization)
      return headers.authorization === `Basic ${btoa(`${client.id}:${encodeURIComponent(client.secret)}`)}`;
    const fields =
      headers["content-type"] === "application/json" ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body));
    return (
      fields.client_id === client.id &&
      fields.client_secret === client.secret &&
      fields.grant_type === "client_credentials"
    );
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const reply = (status: number, value: object): void =>
      void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    if (request.method === "POST" && request.url!.endsWith("/token")) {
      asked.push({ headers: request.headers, body });
      await sleep(100);
      if (!isClient(request.headers, body))
        return reply(401, { error: "invalid_client", error_description: `not ${body}` });
      const token = `t0ken-${randomBytes(16).toString("hex")}`;
      valid.add(token);
      given.push(token);
      return reply(200, { access_token: token, token_type: "bearer", expires_in: 600 });
    }
    const token = request.headers.authorization?.replace("Bearer ", "") ?? "";
    reply(valid.has(token) ? 200 : 401, { token, asked: request.headers });
  };
  return { asked, valid, given, server: createServer((request, response) => void answer(request, response)) };
}
