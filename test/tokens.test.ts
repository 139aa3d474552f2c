/** Signing keys over the wire: published for others, rotated by the command line, known to all processes of a database. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { decodeProtectedHeader } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { beside, cli, cliJson } from "./command-line.ts";
import { startTestServer, type Data, type TestServer } from "./client.ts";
import { sharedPostgres } from "./postgres.ts";

const run = promisify(execFile);
const ROOT = path.join(import.meta.dirname, "..");
const KEYS = "/.well-known/jwks.json";
/** A process looks again after this. */
const LOOK_MS = 5_000;
const GRACE_MS = LIMITS.signingKeyGraceSeconds * 1_000;
const AFTERLIFE_MS = LIMITS.accessTokenMinutes * 60_000 + GRACE_MS;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const signIn = async (at: TestServer, { email, password } = server.world): Promise<string> =>
  (await at.data(`mutation { login(email: "${email}", password: "${password}") { accessToken } }`, {}, null)).login
    .accessToken;
const kidOf = (token: string): string => decodeProtectedHeader(token).kid!;
const published = async (at = server): Promise<Data> => (await fetch(`${at.url}${KEYS}`)).json();
const kidsOf = async (at = server): Promise<string[]> => (await published(at)).keys.map(({ kid }: Data) => kid);
const isGood = async (token: string, at = server): Promise<boolean> =>
  (await at.graphql("{ me { id } }", {}, token)).status === 200;

test("the public keys are there for everybody, to be kept for less than a new key waits, without private parts", async () => {
  const response = await fetch(`${server.url}${KEYS}`);
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/jwk-set+json"]);
  const maxAge = /^public, max-age=(\d+)$/.exec(response.headers.get("cache-control")!)![1];
  expect(Number(maxAge) * 1_000 + LOOK_MS).toBeLessThan(GRACE_MS);
  const text = await response.text();
  const { issuer, keys } = JSON.parse(text);
  expect(issuer).toMatch(/^urn:autograph:[0-9a-f]{32}$/);
  expect(keys).toEqual([
    {
      kty: "OKP",
      crv: "Ed25519",
      x: expect.stringMatching(/^[\w-]{43}$/),
      kid: kidOf(await signIn(server)),
      use: "sig",
      alg: "EdDSA",
    },
  ]);
  const head = await fetch(`${server.url}${KEYS}`, { method: "HEAD" });
  expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, String(text.length), ""]);
  for (const name of ["content-type", "cache-control"]) expect(head.headers.get(name)).toBe(response.headers.get(name));
  expect((await fetch(`${server.url}${KEYS}`, { method: "POST" })).status).toBe(404);
});

test("another program verifies a token with them, by the lines of docs/api.md", async () => {
  const guide = readFileSync(path.join(ROOT, "docs/api.md"), "utf8");
  const [, lines] = /^```js\n(import \{ createRemoteJWKSet.*?)^```/ms.exec(guide)!;
  const payloadOf = async (accessToken: string): Promise<Data> => {
    const program = `${lines!.replace("https://agents.example.org", server.url)}console.log(JSON.stringify(payload));`;
    const text = `const accessToken = ${JSON.stringify(accessToken)};\n${program}`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", text], { cwd: ROOT });
    return JSON.parse(stdout);
  };
  const token = await signIn(server);
  const payload = await payloadOf(token);
  expect(payload).toMatchObject({
    sub: expect.stringMatching(/^user_/),
    org: server.world.organizationId,
    sid: expect.stringMatching(/^session_/),
    jti: expect.any(String),
    client: "api",
    client_id: "api",
  });
  const [head, , signature] = token.split(".");
  const changed = Buffer.from(JSON.stringify({ ...payload, client: "ui" })).toString("base64url");
  await expect(payloadOf(`${head}.${changed}.${signature}`)).rejects.toThrow("signature verification failed");
});

test("rotated beside the running server: published within seconds, signs a minute later, and the former one stays until its last token has ended", async () => {
  const [former] = await kidsOf();
  const { kid, signsFrom, formerUntil } = await cliJson<Data>(["tokens", "rotate-key"], { env: beside(server) });
  expect(new Date(formerUntil).getTime() - new Date(signsFrom).getTime()).toBe(AFTERLIFE_MS);
  await server.clock.advance(LOOK_MS);
  expect(await kidsOf()).toEqual([former, kid]);
  await server.clock.set(new Date(signsFrom).getTime() - GRACE_MS / 2);
  const before = await signIn(server);
  expect(kidOf(before)).toBe(former);
  await server.clock.set(new Date(signsFrom).getTime());
  const after = await signIn(server);
  expect([kidOf(after), await isGood(before), await isGood(after)]).toEqual([kid, true, true]);
  await server.clock.set(new Date(formerUntil).getTime() - GRACE_MS);
  expect(await kidsOf()).toEqual([former, kid]);
  await server.clock.set(new Date(formerUntil).getTime());
  expect([await kidsOf(), await isGood(before)]).toEqual([[kid], false]);
});

test("the command says what happens", async () => {
  const said = await cli(["tokens", "rotate-key", "--at-once"], { env: beside(server) });
  const text = /^[0-9a-f-]{36} signs access tokens from \S+Z; those of the former key are good until \S+Z\n$/;
  expect(said).toMatchObject({ code: 0, stderr: "", stdout: expect.stringMatching(text) });
});

test("two processes on one database: a token of a key that the other one has not heard of is good there at once", async () => {
  await using stack = new AsyncDisposableStack();
  const postgres = stack.use(await sharedPostgres());
  const env = { DATABASE_URL: await postgres.createMigrated(), SECRET_KEY: Buffer.alloc(32, 9).toString("base64") };
  const a = stack.use(await startTestServer({ env: { ...env } }));
  const b = stack.use(await startTestServer({ env: { ...env }, fresh: true }));
  const [first] = await kidsOf(b);
  expect(await kidsOf(a)).toEqual([first]);
  const { kid } = await cliJson<Data>(["tokens", "rotate-key", "--at-once"], { env });
  // Only `a` learns of it.
  await a.clock.advance(LOOK_MS);
  const token = await signIn(a, a.world);
  expect(kidOf(token)).toBe(kid);
  expect([await isGood(token, b), (await published(b)).issuer]).toEqual([true, (await published(a)).issuer]);
  expect(await kidsOf(b)).toEqual([first, kid]);
  await a.kill();
  await a.restart();
  expect(await isGood(token, a)).toBe(true);
  expect(kidOf(await signIn(a, a.world))).toBe(kid);
});
