/** Calls that authenticate by digest and by tokens of OAuth 2, at real services on loopback. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { digestService, tokenService } from "./authentication-services.ts";
import { startTestServer, type TestServer } from "./client.ts";
import { LIMITS } from "../server/src/lib/limits.ts";
import { MAIN_THREAD_MS } from "./meter.ts";
import { stretchMs } from "./raw.ts";
import { agentOf, ran, runOf } from "./runs.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ env: { OUTBOUND_ALLOW: "127.0.0.1/32" } });
});
afterAll(() => server[Symbol.asyncDispose]());

const setSecret = (name: string, value: string): Promise<unknown> =>
  server.data("mutation($input: SetSecretInput!) { setSecret(input: $input) { id } }", {
    input: { projectId: server.world.projectId, name, value },
  });

const services: Server[] = [];
const serve = async (service: Server): Promise<string> => {
  services.push(service.listen(0, "127.0.0.1"));
  await once(service, "listening");
  return `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
};
afterAll(() => {
  for (const service of services) {
    service.closeAllConnections();
    service.close();
  }
});
const call = (uri: string, authentication: string, more = ""): string =>
  `use: {secrets: [digestPassword, clientSecret, client]}\ndo: [{send: {call: http, with: {method: get, endpoint: {uri: '${uri}', authentication: ${authentication}}${more}}}}]`;

test.each(["MD5", "SHA-256"] as const)("a digest by %s, also when the nonce was stale", async (algorithm) => {
  const { seen, server: service } = digestService(algorithm, "pl4nted digest");
  const url = await serve(service);
  await setSecret("digestPassword", "pl4nted digest");
  const login = "{digest: {username: robot, password: '${ $secrets.digestPassword }'}}";
  const post = `, body: {n: 1}`;
  const run = await runOf(server, call(`${url}/a?b=c`, login, post).replace("method: get", "method: post"));
  expect(run).toMatchObject({ status: "completed", error: null });
  expect(JSON.parse(run.output).password).toBe("[redacted]");
  expect(seen.map(({ authorized }) => authorized)).toEqual([false, false, true]);
  expect(new Set(seen.map(({ key }) => key)).size).toBe(1);
  expect(seen.at(-1)!.body).toBe('{"n":1}');
  expect(JSON.stringify(run)).not.toContain("pl4nted");

  await setSecret("digestPassword", "wrong one");
  const refused = await runOf(server, call(`${url}/a`, login));
  expect(refused.error).toMatchObject({ status: 401, type: expect.stringMatching(/communication$/) });
  expect(seen.length).toBe(5);
});

test("one request for a token serves many runs until its end; a revoked one is requested again", async () => {
  const { asked, valid, given, server: service } = tokenService({ id: "shop", secret: "pl4nted/client secret" });
  const url = await serve(service);
  await setSecret("clientSecret", "pl4nted/client secret");
  const policy = `{oauth2: {authority: '${url}/realm', endpoints: {token: /token}, grant: client_credentials, client: {id: shop, secret: '\${ $secrets.clientSecret }'}, scopes: [read, write], audiences: [api]}}`;
  const agent = await agentOf(server, call(`${url}/orders`, policy, ", output: response"));
  const runs = await Promise.all(Array.from({ length: 10 }, () => ran(server, agent)));
  expect(runs.map(({ status }) => status)).toEqual(runs.map(() => "completed"));
  expect(asked.map(({ body }) => Object.fromEntries(new URLSearchParams(body)))).toEqual([
    {
      grant_type: "client_credentials",
      client_id: "shop",
      client_secret: "pl4nted/client secret",
      scope: "read write",
      audience: "api",
    },
  ]);
  expect(runs[0].output.content.token).toBe("[redacted]");

  valid.clear();
  const least = await server.clock.now();
  expect((await ran(server, agent)).status).toBe("completed");
  expect(asked).toHaveLength(2);
  let most = await server.clock.now();
  await server.clock.set(least + 400_000);
  await ran(server, agent);
  expect(asked).toHaveLength(2);
  // 600 s less 30, from when it was given.
  await server.clock.set(least + 569_000);
  await ran(server, agent);
  // A call that takes a second to get it may have requested another.
  if ((await server.clock.now()) < least + 570_000) expect(asked).toHaveLength(2);
  else most = await server.clock.now();
  const before = asked.length;
  await server.clock.set(most + 570_000);
  expect((await ran(server, agent)).status).toBe("completed");
  expect(asked).toHaveLength(before + 1);

  await setSecret("clientSecret", "an0ther secret");
  const refused = await ran(server, agent);
  expect(refused.error).toMatchObject({ status: 401, type: expect.stringMatching(/authentication$/) });
  expect(refused.error.detail).toBe(`${url} answered 401 (invalid_client) to the request for a token`);
  const all = JSON.stringify([runs, refused]) + server.log();
  for (const hidden of [...given, "pl4nted", "an0ther secret"]) expect(all).not.toContain(hidden);
});

test("a host that holds a credential is in no error, whatever the URL made of it", async () => {
  await setSecret("clientSecret", "Pl4nted-Host");
  const login = "{basic: {username: robot, password: '${ $secrets.clientSecret }'}}";
  for (const uri of ["http://pl4nted-host.invalid/", "http://PL4NTED-HOST.invalid:81/a", "http://127.0.0.1:9/{host}"]) {
    const run = await runOf(server, call(uri, login), { host: "Pl4nted-Host" });
    expect(run.status).toBe("failed");
    expect(JSON.stringify(run.error).toLowerCase(), uri).not.toContain("pl4nted");
  }
  expect(server.log().toLowerCase()).not.toContain("pl4nted");
});

test("a service that never agrees is asked no more often than that, and a credential follows no redirect", async () => {
  const seen: string[] = [];
  let token: object = {};
  const url = await serve(
    createServer(({ url: path = "", headers }, response) => {
      seen.push(path);
      if (path === "/token/moved") response.writeHead(302, { location: "/token" });
      else if (path === "/token") response.end(JSON.stringify(token));
      else if (path === "/moving" && headers.authorization) response.writeHead(302, { location: "/moved" });
      else response.writeHead(401, { "www-authenticate": 'Digest realm="shop", nonce="n", stale=true' });
      response.end();
    }),
  );
  await setSecret("digestPassword", "pl4nted digest");
  await setSecret("clientSecret", "pl4nted client");
  const digest = "{digest: {username: robot, password: '${ $secrets.digestPassword }'}}";
  const oauth2 = (path: string): string =>
    `{oauth2: {authority: '${url}', endpoints: {token: ${path}}, grant: client_credentials, client: {id: shop, secret: '\${ $secrets.clientSecret }'}}}`;
  const askedFor = async (path: string, policy: string, more = ""): Promise<unknown[]> => {
    seen.length = 0;
    const { error } = await runOf(server, call(`${url}${path}`, policy, more));
    return [error.type.split("/").at(-1), error.status, ...seen];
  };
  expect(await askedFor("/a", digest)).toEqual(["communication", 401, "/a", "/a", "/a"]);
  const moving = await askedFor("/moving", digest, ", redirect: true");
  expect(moving).toEqual(["communication", 302, "/moving", "/moving"]);

  token = { access_token: "refused", token_type: "bearer", expires_in: 600 };
  expect(await askedFor("/a", oauth2("/token"))).toEqual(["communication", 401, "/token", "/a"]);
  // It is kept: one more time it may have been revoked.
  expect(await askedFor("/a", oauth2("/token"))).toEqual(["communication", 401, "/a", "/token", "/a"]);
  expect(await askedFor("/a", oauth2("/token/moved"))).toEqual(["communication", 302, "/token/moved"]);
  await setSecret("clientSecret", "an0ther client");
  token = { access_token: "t0ken", token_type: "mac" };
  expect(await askedFor("/a", oauth2("/token"))).toEqual(["authentication", 401, "/token"]);
  token = { access_token: "t0ken\r\nx-more: 1", token_type: "bearer" };
  expect((await askedFor("/a", oauth2("/token"))).slice(2)).toEqual(["/token"]);
});

test("the whole policy from a secret, the client by header and a body of JSON", async () => {
  const { asked, server: service } = tokenService({ id: "shop", secret: "pl4nted&client" });
  const url = await serve(service);
  const policy = { authority: url, endpoints: { token: "/token" }, grant: "client_credentials" };
  const client = { id: "shop", secret: "pl4nted&client", authentication: "client_secret_basic" };
  await setSecret("client", JSON.stringify({ ...policy, client }));
  expect((await runOf(server, call(`${url}/orders`, "{oauth2: {use: client}}"))).status).toBe("completed");
  expect(asked[0]!.headers.authorization).toMatch(/^Basic /);
  const json = {
    ...policy,
    client: { ...client, authentication: "client_secret_post" },
    request: { encoding: "application/json" },
  };
  await setSecret("client", JSON.stringify(json));
  expect((await runOf(server, call(`${url}/orders`, "{oauth2: {use: client}}"))).status).toBe("completed");
  expect(asked[1]!.headers["content-type"]).toBe("application/json");
  for (const [wrong, why] of [
    [
      { ...json, grant: "authorization_code" },
      /^the authentication's grant is not one of client_credentials, password, refresh_token, [^,]*token-exchange, [^,]*jwt-bearer, so nothing was sent$/,
    ],
    [{ ...json, authority: "http://u:pl4nted@127.0.0.1" }, /^the authentication's authority is not a URL without user/],
    [{ ...json, client: { id: "shop" } }, /^the authentication's secret is null/],
    ["no object", /^the secret "client" is not a JSON object with the fields of oauth2/],
  ] as const) {
    await setSecret("client", typeof wrong === "string" ? wrong : JSON.stringify(wrong));
    const { error } = await runOf(server, call(`${url}/orders`, "{oauth2: {use: client}}"));
    expect(error.type).toMatch(/authentication$/);
    expect(error.detail).toMatch(why);
    expect(error.detail).not.toContain("pl4nted");
  }
  expect(asked).toHaveLength(2);
});

test.each([
  ["authority", `https://h${"/".repeat(LIMITS.authorityCharacters)}`, LIMITS.authorityCharacters],
  ["endpoints.token", "/".repeat(LIMITS.tokenPathCharacters + 1), LIMITS.tokenPathCharacters],
])(
  "of a policy from a secret %s has a limit, too, and slashes cost no stretch of 100 ms",
  async (name, value, most) => {
    const fields = { authority: "https://h", grant: "client_credentials", client: { id: "shop", secret: "pl4nted" } };
    const given = name === "authority" ? { authority: value } : { endpoints: { token: value } };
    await setSecret("client", JSON.stringify({ ...fields, ...given }));
    const agent = await agentOf(server, call("https://example.com/", "{oauth2: {use: client}}"));
    const longestMs = await stretchMs(server, async () => {
      expect((await ran(server, agent)).error).toMatchObject({
        status: 401,
        detail: `the authentication's ${name} has more than ${most} characters, so nothing was sent`,
      });
    });
    expect(longestMs).toBeLessThan(MAIN_THREAD_MS);
  },
);

test("credentials are as large as secrets, and an answer of their beginnings costs no stretch of 100 ms", async () => {
  // Characters that servers misread between letters: 200 texts with one beginning, in each place of the answer.
  const pieces = Array.from({ length: 200 }, (_, at) => `ä${"a".repeat(33)}${at}`).join("");
  const most = pieces + "a".repeat(LIMITS.secretBytes - Buffer.byteLength(pieces));
  const url = await serve(createServer((_, response) => void response.end("a".repeat(1_000_000))));
  const policy = "{basic: {username: u, password: '${ .password }'}}";
  const agent = await agentOf(server, call(`${url}/`, policy).replace("[digest", "[beginning, digest"));
  await setSecret("beginning", most);
  const longestMs = await stretchMs(server, async () => {
    expect(await ran(server, agent, { password: most })).toMatchObject({ error: null, output: "[redacted]" });
  });
  expect(longestMs).toBeLessThan(MAIN_THREAD_MS);
  expect((await ran(server, agent, { password: `${most}a` })).error).toMatchObject({
    status: 401,
    detail: "the authentication's basic.password has more than 8192 bytes, so nothing was sent",
  });
});
