/** A server with somebody signed in, and what it takes to send it tokens that nobody should take. */
import { sign, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import net, { type AddressInfo } from "node:net";
import path from "node:path";
import { SignJWT, type JWTHeaderParameters } from "jose";
import { expect } from "vitest";
import { WebSocket } from "ws";
import { expectInTime } from "./in-time.ts";
import { secretKeys } from "../server/src/auth/tokens/secret-key.ts";
import { signingPair } from "../server/src/auth/tokens/signing-keys.ts";
import { parseSecretKey } from "../server/src/lib/secret-key.ts";
import { startTestServer, type Data, type TestServer } from "./client.ts";

/** Ten times the promise of 250 ms (design, promise 8). */
const CANARY_MS = 2_500;
/** How a WebSocket is closed for a wrong credential (docs/api.md). */
export const UNAUTHORIZED = 4401;

type Got = { status: number; headers: IncomingHttpHeaders; code: string | undefined };
/** `closes`: what a WebSocket is closed with, if not UNAUTHORIZED. */
export type Attack = { token: string; closes?: number };
export type Claims = Record<"sub" | "org" | "sid" | "iss" | "aud", string>;
export type Pair = { private: KeyObject; public: KeyObject };

export type Target = {
  server: TestServer;
  /** A good token and the refresh token of its session. */
  good: string;
  refreshToken: string;
  /** The good token's. */
  parts: [string, string, string];
  header: JWTHeaderParameters & { kid: string };
  claims: Claims;
  /** The key that it is signed with. */
  pair: Pair;
  /** Where tokens may say that their key is: nobody should look. */
  elsewhere: string;
  /** Signed with that key. */
  ours(change: object, more?: object): Promise<string>;
  /** Header and claims as texts, signed with that key. */
  oursOf(header: string, claims: string): string;
  ask(token: string, accept?: string): Promise<Got>;
  /** The code that a WebSocket is closed with; "acknowledged" when the server takes the token. */
  open(token: string, where?: "message" | "header"): Promise<number | "acknowledged">;
  /** Over HTTP, Server-Sent Events and WebSocket, while another caller is answered in time, and nothing is fetched. */
  expectAllRefused(attacks: Record<string, Attack | string>): Promise<void>;
} & AsyncDisposable;

export const encode = (value: unknown): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

export const signIn = async (
  server: TestServer,
  { email, password }: { email: string; password: string },
): Promise<{ accessToken: string; refreshToken: string }> =>
  (
    await server.data(
      "mutation ($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken refreshToken } }",
      { email, password },
      null,
    )
  ).login;

/** The first of the keys that the server has published, and the pair behind it: an operator has its secret. */
export async function keyOf({ url, dataFolder }: TestServer): Promise<{ kid: string; issuer: string; pair: Pair }> {
  const published: Data = await (await fetch(`${url}/.well-known/jwks.json`)).json();
  const master = parseSecretKey(readFileSync(path.join(dataFolder, "secret.key"), "utf8"))!;
  const { kid } = published.keys[0];
  return { kid, issuer: published.issuer, pair: signingPair(secretKeys(master).derive, kid) };
}

export async function startTarget(): Promise<Target> {
  await using stack = new AsyncDisposableStack();
  const env = { TRUSTED_PROXIES: "127.0.0.1", OUTBOUND_ALLOW: "127.0.0.1/32" };
  const server = stack.use(await startTestServer({ env }));
  const { accessToken: good, refreshToken } = await signIn(server, server.world);
  const parts = good.split(".") as Target["parts"];
  const [header, claims] = parts
    .slice(0, 2)
    .map((part) => JSON.parse(Buffer.from(part, "base64url").toString()) as unknown) as [Target["header"], Claims];
  const { pair } = await keyOf(server);
  let fetched = 0;
  const listener = net.createServer((socket) => {
    fetched++;
    socket.destroy();
  });
  stack.defer(() => void listener.close());
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");

  const expectAllRefused: Target["expectAllRefused"] = async (attacks) => {
    await withCanary(server, async () => {
      for (const [name, attack] of Object.entries(attacks))
        await expectRefused(server, name, typeof attack === "string" ? { token: attack } : attack);
    });
    expect(fetched, "connections to what tokens name").toBe(0);
    // The token that all of it is made of is good as before.
    expect((await ask(server, good)).status).toBe(200);
    expect(await open(server, good)).toBe("acknowledged");
  };

  const opened = stack.move();
  return {
    server,
    good,
    refreshToken,
    parts,
    header,
    claims,
    pair,
    elsewhere: `http://127.0.0.1:${(listener.address() as AddressInfo).port}/keys.json`,
    ours: (change, more = {}) =>
      new SignJWT({ ...claims, ...change }).setProtectedHeader({ ...header, ...more }).sign(pair.private),
    oursOf: (head, payload) => {
      const input = `${encode(head)}.${encode(payload)}`;
      return `${input}.${sign(null, Buffer.from(input), pair.private).toString("base64url")}`;
    },
    ask: (token, accept) => ask(server, token, accept),
    open: (token, where) => open(server, token, where),
    expectAllRefused,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

let sent = 0;
/** Different in every request, so that the limit of wrong credentials does not answer for the token. */
const address = (): string => `10.1.${Math.floor(++sent / 250)}.${(sent % 250) + 1}`;

const ask = (server: TestServer, token: string, accept = "application/json"): Promise<Got> =>
  new Promise((resolve, reject) => {
    const asked = httpRequest(`${server.url}/graphql`, {
      method: "POST",
      headers: {
        accept,
        "content-type": "application/json",
        "x-forwarded-for": address(),
        authorization: `Bearer ${token}`,
      },
    });
    asked.on("error", reject);
    asked.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => {
        const code = /"code":"(\w+)"/.exec(text)?.[1];
        resolve({ status: response.statusCode!, headers: response.headers, code });
      });
    });
    asked.end(JSON.stringify({ query: "{ me { id } }" }));
  });

/** The code that the server closes with; "acknowledged" when it takes the token. */
async function open(
  server: TestServer,
  token: string,
  where: "message" | "header" = "message",
): Promise<number | "acknowledged"> {
  const authorization = `Bearer ${token}`;
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/graphql`, "graphql-transport-ws", {
    headers: { "x-forwarded-for": address(), ...(where === "header" && { authorization }) },
  });
  const payload = where === "header" ? {} : { Authorization: authorization };
  socket.once("open", () => socket.send(JSON.stringify({ type: "connection_init", payload })));
  const outcome = await Promise.race([
    once(socket, "close").then(([code]) => code as number),
    once(socket, "message").then(() => "acknowledged" as const),
  ]);
  socket.terminate();
  return outcome;
}

/** Refused in every way, and for nothing else than the token. */
async function expectRefused(
  server: TestServer,
  name: string,
  { token, closes = UNAUTHORIZED }: Attack,
): Promise<void> {
  const [json, events, code] = await Promise.all([
    ask(server, token),
    ask(server, token, "text/event-stream"),
    open(server, token),
  ]);
  for (const { status, headers, code: refusal } of [json, events])
    expect([status, headers["www-authenticate"], refusal], name).toEqual([401, "Bearer", "UNAUTHENTICATED"]);
  expect(code, name).toBe(closes);
}

/** Runs beside `work`; every answer of it came in time. */
async function withCanary(server: TestServer, work: () => Promise<void>): Promise<void> {
  const over = new AbortController();
  const took: number[] = [];
  const canary = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const since = performance.now();
      await server.data("{ me { id } }");
      took.push(performance.now() - since);
    }
  };
  await Promise.all([canary(), work().finally(() => over.abort())]);
  expect(took.length).toBeGreaterThan(0);
  expectInTime(Math.max(...took), CANARY_MS);
}
