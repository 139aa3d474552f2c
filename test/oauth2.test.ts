/** Tokens of OAuth 2 and OpenID Connect, from a real authority on loopback and from hostile ones. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { SignJWT } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startTestServer, type Data, type TestServer } from "./client.ts";
import { JWT_BEARER, SECRET, startAuthority, TOKEN_EXCHANGE, type Authority } from "./oidc-authority.ts";
import { agentOf, ran, runOf } from "./runs.ts";

let server: TestServer;
let authority: Authority;
const seen: unknown[] = [];
beforeAll(async () => {
  [server, authority] = [await startTestServer({ env: { OUTBOUND_ALLOW: "127.0.0.1/32" } }), await startAuthority()];
  await setSecret("clientSecret", SECRET);
  await setSecret("clientKey", authority.key);
});
afterAll(async () => {
  for (const one of [server, authority]) await one[Symbol.asyncDispose]();
});
beforeEach(() => {
  authority.asked.length = authority.shown.length = 0;
});

const setSecret = (name: string, value: string): Promise<unknown> =>
  server.data("mutation($input: SetSecretInput!) { setSecret(input: $input) { id } }", {
    input: { projectId: server.world.projectId, name, value },
  });

const definitionOf = (authentication: string, uri = `${authority.url}/orders`): string =>
  `use: {secrets: [clientSecret, clientKey, policy, refresh]}\ndo: [{send: {call: http, with: {method: get, endpoint: {uri: '${uri}', authentication: ${authentication}}}}}]`;
const called = async (authentication: string, uri?: string): Promise<Data> => {
  for (const name of ["policy", "refresh"]) if (!secretsSet.has(name)) await setSecretOnce(name);
  const run = await runOf(server, definitionOf(authentication, uri));
  seen.push(run);
  return run;
};
const secretsSet = new Set<string>();
async function setSecretOnce(name: string): Promise<void> {
  secretsSet.add(name);
  await setSecret(name, "unused-so-far");
}
const set = async (name: string, value: string): Promise<void> => {
  secretsSet.add(name);
  await setSecret(name, value);
};

const policyOf = (client: string, more = "grant: client_credentials, scopes: [read]"): string =>
  `{oidc: {authority: '${authority.url}', client: ${client}, ${more}}}`;

describe("a client shows who it is", () => {
  const secret = "secret: '${ $secrets.clientSecret }'";
  test.each([
    ["client_secret_post", secret],
    ["client_secret_basic", secret],
    ["client_secret_jwt", secret],
    ["private_key_jwt", "assertion: '${ $secrets.clientKey }'"],
  ])("by %s", async (method, more) => {
    const run = await called(policyOf(`{id: ${method}, authentication: ${method}, ${more}}`));
    expect(run).toMatchObject({ status: "completed", output: { client: method, scope: "read", echo: "[redacted]" } });
    expect(authority.asked).toHaveLength(1);
  });

  test("by a JWT that is signed elsewhere", async () => {
    const { createPrivateKey } = await import("node:crypto");
    const assertion = await new SignJWT({ jti: "once" })
      .setProtectedHeader({ alg: "ES256" })
      .setIssuer("private_key_jwt")
      .setSubject("private_key_jwt")
      .setAudience(`${authority.url}/token`)
      .setExpirationTime("1h")
      .setIssuedAt()
      .sign(createPrivateKey(authority.key));
    await set("policy", assertion);
    const run = await called(
      policyOf(
        "{id: private_key_jwt, authentication: private_key_jwt, assertion: '${ $secrets.policy }'}",
        "grant: client_credentials, scopes: [write]",
      ),
    );
    expect(run).toMatchObject({ status: "completed", output: { scope: "write" } });
    expect(authority.asked[0]!.body.get("client_assertion")).toBe(assertion);
  });

  test("by oauth2 with the path of its token endpoint", async () => {
    const run = await called(
      `{oauth2: {authority: '${authority.url}', endpoints: {token: /token}, grant: client_credentials, client: {id: private_key_jwt, authentication: private_key_jwt, assertion: '\${ $secrets.clientKey }'}}}`,
    );
    expect(run).toMatchObject({ status: "completed" });
  });

  test.each([
    ["no key", "nonsense", "client.assertion is neither a JWT nor a private key as PEM or JWK"],
    [
      "the beginning of a key",
      "-----BEGIN PRIVATE KEY-----\npl4nted\n-----END PRIVATE KEY-----",
      "client.assertion is neither",
    ],
    ["a JWK of another kind", '{"kty":"oct","k":"pl4nted"}', "client.assertion is neither"],
  ])("not by %s, and nothing of it is shown", async (_, key, why) => {
    await set("policy", key);
    const { error } = await called(
      policyOf("{id: private_key_jwt, authentication: private_key_jwt, assertion: '${ $secrets.policy }'}"),
    );
    expect(error.type).toMatch(/authentication$/);
    expect(error.detail).toContain(why);
    expect(authority.asked).toHaveLength(0);
  });
});

describe("OpenID Connect's discovery", () => {
  test("is read once an hour for all policies of an organization; many runs share one token", async () => {
    const before = authority.discovered();
    const agent = await agentOf(
      server,
      definitionOf(
        policyOf(
          `{id: client_secret_post, secret: '\${ $secrets.clientSecret }'}`,
          "grant: client_credentials, scopes: [read, write]",
        ),
      ),
    );
    const runs = await Promise.all(Array.from({ length: 10 }, () => ran(server, agent)));
    expect(new Set(runs.map(({ status }) => status))).toEqual(new Set(["completed"]));
    expect(authority.asked).toHaveLength(1);
    expect(authority.discovered() - before).toBeLessThanOrEqual(1);
  });

  test("may be written out in the authority", async () => {
    const run = await called(
      policyOf(`{id: client_secret_post, secret: '\${ $secrets.clientSecret }'}`).replace(
        authority.url,
        `${authority.url}/.well-known/openid-configuration`,
      ),
    );
    expect(run.status).toBe("completed");
  });

  test("a token that was revoked is renewed once", async () => {
    const policy = policyOf(
      `{id: client_secret_post, secret: '\${ $secrets.clientSecret }'}`,
      "grant: client_credentials",
    );
    await called(policy);
    await authority.revoke();
    authority.asked.length = authority.shown.length = 0;
    expect((await called(policy)).status).toBe("completed");
    expect([authority.asked.length, authority.shown.length]).toEqual([1, 2]);
  });
});

describe("grants", () => {
  const basic = "{id: client_secret_basic, authentication: client_secret_basic, secret: '${ $secrets.clientSecret }'}";

  test("refresh_token: a replaced one is kept, and is used after kill -9", async () => {
    const first = await authority.consent("client_secret_basic");
    await set("refresh", first);
    const policy = (scope: string): string =>
      policyOf(
        basic,
        `grant: refresh_token, subject: {token: '\${ $secrets.refresh }', type: 'urn:ietf:params:oauth:token-type:refresh_token'}, scopes: [${scope}]`,
      );
    expect(await called(policy("openid, read"))).toMatchObject({
      status: "completed",
      output: { scope: "openid read" },
    });
    await server.kill();
    await server.restart();
    // Another policy with the same refresh token, too: both at once.
    const both = await Promise.all([called(policy("openid, read")), called(policy("openid"))]);
    expect(both.map(({ status, error }) => [status, error])).toEqual([
      ["completed", null],
      ["completed", null],
    ]);
    const tokens = authority.asked.map(({ body }) => body.get("refresh_token"));
    expect(tokens[0]).toBe(first);
    expect(new Set(tokens).size).toBe(3);
    // Everything hangs together: the first one again would take back all of them.
    await set("refresh", "pl4nted-and-unknown");
    const { error } = await called(policy("read"));
    expect(error).toMatchObject({
      type: expect.stringMatching(/authentication$/),
      detail: expect.stringContaining(
        "(invalid_grant) to the request for a token: what stands for the user is used up or taken back, so set a new one",
      ),
    });
    seen.push(...tokens.filter((token) => JSON.stringify(seen).includes(token!)).map(() => "LEAKED"));
  });

  test("token-exchange, with subject and actor", async () => {
    await set(
      "policy",
      await new SignJWT({ sub: "ann" }).setProtectedHeader({ alg: "HS256" }).sign(new TextEncoder().encode(SECRET)),
    );
    const run = await called(
      policyOf(
        basic,
        `grant: '${TOKEN_EXCHANGE}', subject: {token: '\${ $secrets.policy }', type: 'urn:ietf:params:oauth:token-type:jwt'}, actor: {token: acting, type: 'urn:ietf:params:oauth:token-type:access_token'}, audiences: [orders]`,
      ),
    );
    expect(run).toMatchObject({ status: "completed" });
    expect(Object.fromEntries(authority.asked[0]!.body)).toMatchObject({
      grant_type: TOKEN_EXCHANGE,
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      actor_token: "acting",
      audience: "orders",
    });
  });

  test("jwt-bearer, which the language does not have, in a policy that is a secret", async () => {
    await set(
      "policy",
      JSON.stringify({
        authority: authority.url,
        grant: JWT_BEARER,
        client: { id: "client_secret_basic", authentication: "client_secret_basic", secret: SECRET },
        subject: { token: authority.key, type: "urn:ietf:params:oauth:token-type:jwt" },
        scopes: ["read"],
      }),
    );
    expect(await called("{oidc: {use: policy}}")).toMatchObject({ status: "completed", output: { scope: "read" } });
  });
});

describe("hostile authorities", () => {
  let answer: (request: IncomingMessage, response: ServerResponse) => void = () => {};
  let requests: string[] = [];
  const hostile = createServer((request, response) => {
    requests.push(request.url!);
    request.resume();
    answer(request, response);
  });
  let url = "";
  beforeAll(async () => {
    hostile.listen(0, "127.0.0.1");
    await once(hostile, "listening");
    url = `http://127.0.0.1:${(hostile.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    hostile.closeAllConnections();
    hostile.close();
  });
  beforeEach(() => void (requests = []));

  const json =
    (value: unknown, status = 200) =>
    (_: IncomingMessage, response: ServerResponse): void =>
      void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
  const client = "{id: robot, secret: '${ $secrets.clientSecret }'}";
  const oidc = (): string => `{oidc: {authority: '${url}/realm', grant: client_credentials, client: ${client}}}`;
  const told = async (policy = oidc()): Promise<[string, string]> => {
    const { error } = await called(policy, `${url}/orders`);
    return [error.type.split("/").at(-1), error.detail.replaceAll(url, "HOST")];
  };

  test.each<[string, unknown, string]>([
    ["no token endpoint", { issuer: "URL/realm" }, "has no token_endpoint"],
    ["no JSON", "text", "names another issuer than the authority"],
    [
      "another issuer",
      { issuer: "https://login.example.com", token_endpoint: "URL/t" },
      "names another issuer than the authority",
    ],
    [
      "a token endpoint of another kind",
      { issuer: "URL/realm", token_endpoint: "file:///etc/passwd" },
      "has a token_endpoint that is not a URL without user and fragment",
    ],
    [
      "a token endpoint with a user",
      { issuer: "URL/realm", token_endpoint: "http://a:b@127.0.0.1/" },
      "has a token_endpoint that is not a URL without user and fragment",
    ],
    [
      "a token endpoint that leads elsewhere",
      { issuer: "URL/realm", token_endpoint: "URL/a/../b" },
      "has a token_endpoint that is not a URL without user and fragment",
    ],
  ])("discovery: %s", async (_, document, why) => {
    answer = json(JSON.parse(JSON.stringify(document).replaceAll("URL", url)));
    expect(await told()).toEqual(["communication", `the openid-configuration of HOST ${why}`]);
    expect(requests).toEqual(["/realm/.well-known/openid-configuration"]);
  });

  test("discovery leads behind the guard like any call", async () => {
    answer = json({ issuer: `${url}/realm`, token_endpoint: "http://169.254.169.254/latest" });
    const [type, detail] = await told();
    expect([type, detail]).toEqual(["authorization", expect.stringContaining("metadata")]);
  });

  test.each<[string, typeof answer, string, string]>([
    [
      "a redirect",
      (_, response) => void response.writeHead(307, { location: "/elsewhere" }).end(),
      "communication",
      "HOST answered 307 to the request for its openid-configuration",
    ],
    ["too much", (_, response) => void response.end("x".repeat(300_000)), "communication", "no token for the call: "],
    [
      "the secret, repeated",
      (request, response) => json({ error: SECRET, error_description: SECRET }, 400)(request, response),
      "authentication",
      "HOST answered 400 to the request for its openid-configuration",
    ],
  ])("%s", async (_, how, type, detail) => {
    answer = how;
    const [found, said] = await told();
    expect(found).toBe(type);
    expect(said).toContain(detail);
    expect(requests).toHaveLength(1);
  });

  test("a token endpoint that hangs holds a run as long as the run's own timeout says, and the next one finds it again", async () => {
    const policy = `{oauth2: {authority: '${url}', endpoints: {token: /token}, grant: client_credentials, client: ${client}}}`;
    answer = () => {};
    const run = await runOf(
      server,
      definitionOf(policy, `${url}/orders`).replace(/\}{4}\]$/, "}}, timeout: {after: PT1S}}}]"),
    );
    expect(run.error.type).toMatch(/timeout$/);
    expect(requests).toEqual(["/token"]);
  });

  /** Neither `String` nor `Number` can convert it. */
  const odd = { toString: 1, valueOf: 1 };
  test.each<[string, unknown, number, string]>([
    ["error", { error: odd }, 400, "HOST answered 400 to the request for a token"],
    [
      "token_type",
      { access_token: "t0ken", token_type: odd },
      200,
      "HOST answered with a token of another type than Bearer",
    ],
  ])("an answer whose %s is an object without a text", async (_, given, status, detail) => {
    answer = json(given, status);
    const policy = `{oauth2: {authority: '${url}', endpoints: {token: /odd}, grant: client_credentials, client: ${client}}}`;
    expect(await told(policy)).toEqual(["authentication", detail]);
    expect(requests).toEqual(["/odd"]);
  });

  test("an answer whose expires_in is such an object: its token is used once", async () => {
    const policy = `{oauth2: {authority: '${url}', endpoints: {token: /soon}, grant: client_credentials, client: ${client}}}`;
    answer = (request, response) =>
      json(request.url === "/orders" ? {} : { access_token: "t0ken", expires_in: odd })(request, response);
    for (let call = 0; call < 2; call++)
      expect(await called(policy, `${url}/orders`)).toMatchObject({ status: "completed" });
    expect(requests).toEqual(["/soon", "/orders", "/soon", "/orders"]);
  });

  test("an answer whose token is the secret, or whose refresh token is, is hidden where it comes back", async () => {
    const policy = `{oauth2: {authority: '${url}', endpoints: {token: /token2}, grant: client_credentials, client: ${client}}}`;
    answer = (request, response) =>
      json(
        request.url === "/orders"
          ? { got: request.headers.authorization }
          : { access_token: `t0ken-${SECRET}`, refresh_token: SECRET, expires_in: 600 },
      )(request, response);
    expect((await called(policy, `${url}/orders`)).output).toEqual({ got: "Bearer [redacted]" });
  });
});

test("nothing of it is in runs, errors or the log", async () => {
  const all = JSON.stringify(seen) + server.log();
  expect(all).not.toContain("LEAKED");
  for (const hidden of [
    SECRET,
    "pl4nted",
    authority.key.split("\n")[1]!,
    "client_assertion",
    ...authority.shown.filter(Boolean),
  ])
    expect(all, hidden).not.toContain(hidden);
});
