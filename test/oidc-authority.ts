/** A real authority of OpenID Connect (oidc-provider) on loopback, and a service beside it that takes its tokens. */
import { once } from "node:events";
import { generateKeyPairSync } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createLocalJWKSet, decodeJwt, jwtVerify } from "jose";
import { Provider } from "oidc-provider";

export const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
export const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";

const CLIENT = {
  redirect_uris: [],
  response_types: [],
  grant_types: ["client_credentials", "refresh_token", JWT_BEARER, TOKEN_EXCHANGE],
  scope: "openid offline_access read write",
};
export const SECRET = "pl4nted-client-secret-of-32-bytes-and-more";

export type Authority = {
  url: string;
  /** The bodies of requests for tokens, in their order, with their `authorization`. */
  asked: { body: URLSearchParams; authorization: string | undefined }[];
  discovered: () => number;
  /** The access tokens that the service was shown. */
  shown: string[];
  /** The private key of the client `signer`, as PEM. */
  key: string;
  /** A refresh token for the client, as after a person's consent. */
  consent(clientId: string): Promise<string>;
  revoke(): Promise<void>;
} & AsyncDisposable;

export async function startAuthority(): Promise<Authority> {
  const asked: Authority["asked"] = [];
  const shown: string[] = [];
  let discovered = 0;
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = { ...publicKey.export({ format: "jwk" }), use: "sig", alg: "ES256" };
  const provider = new Provider(url, {
    clients: ["client_secret_post", "client_secret_basic", "client_secret_jwt", "private_key_jwt", "none"].map(
      (method) => ({
        ...CLIENT,
        client_id: method,
        ...(method.startsWith("client_secret") && { client_secret: SECRET }),
        ...(method === "private_key_jwt" && { jwks: { keys: [jwk] } }),
        ...(method === "none" && { grant_types: ["refresh_token"] }),
        token_endpoint_auth_method: method,
      }),
    ),
    clientAuthMethods: ["client_secret_post", "client_secret_basic", "client_secret_jwt", "private_key_jwt", "none"],
    scopes: ["openid", "offline_access", "read", "write"],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      introspection: { enabled: true },
    },
    cookies: { keys: ["of-the-tests"] },
    jwks: {
      keys: [
        { ...generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" }), use: "sig" },
      ],
    },
    findAccount: (_: unknown, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
    rotateRefreshToken: true,
    ttl: { AccessToken: 600, ClientCredentials: 600, RefreshToken: 3_600, Grant: 3_600 },
  });
  const give = async (context: any, sub: string): Promise<void> => {
    const token = new provider.ClientCredentials({ client: context.oidc.client, scope: context.oidc.params.scope });
    context.body = { access_token: await token.save(), token_type: "Bearer", expires_in: 600, sub };
  };
  provider.registerGrantType(
    JWT_BEARER,
    async (context) => {
      const { payload } = await jwtVerify(context.oidc.params.assertion, createLocalJWKSet({ keys: [jwk] }), {
        audience: `${url}/token`,
      });
      await give(context, String(payload.sub));
    },
    ["assertion", "scope"],
  );
  provider.registerGrantType(
    TOKEN_EXCHANGE,
    async (context) => give(context, decodeJwt(context.oidc.params.subject_token).sub!),
    ["subject_token", "subject_token_type", "actor_token", "actor_token_type", "scope", "audience"],
  );
  const handle = provider.callback();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url!, url);
    if (pathname.endsWith("openid-configuration")) discovered++;
    if (pathname === "/orders") {
      const token = request.headers.authorization?.replace("Bearer ", "") ?? "";
      shown.push(token);
      const known = (await provider.AccessToken.find(token)) ?? (await provider.ClientCredentials.find(token));
      response.writeHead(known ? 200 : 401, { "content-type": "application/json" });
      return void response.end(JSON.stringify({ client: known?.clientId, scope: known?.scope, echo: token }));
    }
    if (pathname === "/token") {
      const body = await text(request);
      asked.push({ body: new URLSearchParams(body), authorization: request.headers.authorization });
      // oidc-provider takes a body that was read already.
      (request as { body?: unknown }).body = Object.fromEntries(new URLSearchParams(body));
    }
    handle(request, response);
  }

  return {
    url,
    asked,
    shown,
    discovered: () => discovered,
    key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
    async consent(clientId) {
      const grant = new provider.Grant({ accountId: "ann", clientId });
      grant.addOIDCScope("openid offline_access read");
      const grantId = await grant.save();
      const client = await provider.Client.find(clientId);
      return new provider.RefreshToken({
        accountId: "ann",
        client,
        grantId,
        scope: "openid offline_access read",
        gty: "authorization_code",
        claims: {},
        iiat: Math.floor(Date.now() / 1_000),
      }).save();
    },
    async revoke() {
      for (const token of shown) await (await provider.ClientCredentials.find(token))?.destroy();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => void server.close(done));
    },
  };
}
