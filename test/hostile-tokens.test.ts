/**
 * Attacks with access tokens (RFC 8725), over HTTP, Server-Sent Events and WebSocket: each is refused with 401, or closed with
 * 4401, while others are answered and nothing that a token names is fetched. Tokens marked "ours" are signed with the server's
 * own key: what a mistake of this program, and no attacker, could make.
 */
import { createHmac, generateKeyPairSync, randomBytes, sign, type KeyObject } from "node:crypto";
import { CompactEncrypt, SignJWT } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type Data } from "./client.ts";
import { connect, head } from "./raw.ts";
import { encode, keyOf, signIn, startTarget, UNAUTHORIZED, type Attack, type Target } from "./token-attacks.ts";

/** How a WebSocket is closed whose `connection_init` is too long. */
const BAD_REQUEST = 4400;

let target: Target;
let { server, good, refreshToken, parts, header, claims, pair, elsewhere, ours, oursOf, ask, open, expectAllRefused } =
  {} as Target;
beforeAll(async () => {
  target = await startTarget();
  ({ server, good, refreshToken, parts, header, claims, pair, elsewhere, ours, oursOf, ask, open, expectAllRefused } =
    target);
});
afterAll(() => target[Symbol.asyncDispose]());

const named = async (all: Record<string, Promise<string> | string>): Promise<Record<string, string>> =>
  Object.fromEntries(await Promise.all(Object.entries(all).map(async ([name, token]) => [name, await token] as const)));

test("a token of our own making is taken, so that those below are refused for what they change", async () => {
  expect((await ask(await ours({}))).status).toBe(200);
  expect((await ask(oursOf(JSON.stringify(header), JSON.stringify(claims)))).status).toBe(200);
  expect(await open(await ours({}), "header")).toBe("acknowledged");
});

test("alg none, in all spellings, with a signature, without one, and with another's", async () => {
  const attacks: Record<string, string> = {};
  for (const alg of [
    "none",
    "None",
    "NONE",
    "nOnE",
    "none ",
    "\u0000none",
    "",
    null,
    false,
    0,
    [],
    ["EdDSA"],
    ["none"],
  ])
    for (const signature of ["", parts[2], "AA"])
      attacks[`${JSON.stringify(alg)} ${signature.length}`] = `${encode({ ...header, alg })}.${parts[1]}.${signature}`;
  attacks["no alg"] = `${encode({ typ: header.typ, kid: header.kid })}.${parts[1]}.`;
  attacks["two parts"] = `${encode({ alg: "none" })}.${parts[1]}`;
  await expectAllRefused(attacks);
});

test("another algorithm: HS256 with the public key as its secret, RSA, P-256, other curves, other names of ours", async () => {
  const jwk = pair.public.export({ format: "jwk" });
  const published = (await (await fetch(`${server.url}/.well-known/jwks.json`)).text()).trim();
  const secrets: Record<string, Buffer | string> = {
    raw: Buffer.from(jwk.x!, "base64url"),
    "x as text": jwk.x!,
    pem: pair.public.export({ format: "pem", type: "spki" }),
    "pem, trimmed": String(pair.public.export({ format: "pem", type: "spki" })).trim(),
    der: pair.public.export({ format: "der", type: "spki" }),
    jwk: JSON.stringify(jwk),
    "published key": JSON.stringify(JSON.parse(published).keys[0]),
    "key set": published,
    empty: "",
  };
  const attacks: Record<string, string> = {};
  for (const [name, secret] of Object.entries(secrets))
    for (const [alg, hash] of [
      ["HS256", "sha256"],
      ["HS512", "sha512"],
      ["EdDSA", "sha512"],
    ] as const) {
      const input = `${encode({ ...header, alg })}.${parts[1]}`;
      attacks[`${alg} ${name}`] = `${input}.${createHmac(hash, secret).update(input).digest("base64url")}`;
    }
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const signed = (alg: string, key: KeyObject): Promise<string> =>
    new SignJWT(claims).setProtectedHeader({ ...header, alg }).sign(key);
  Object.assign(
    attacks,
    await named({
      RS256: signed("RS256", rsa),
      PS512: signed("PS512", rsa),
      ES256: signed("ES256", p256),
      "EdDSA, another key": signed("EdDSA", generateKeyPairSync("ed25519").privateKey),
      "ours as Ed25519": oursOf(JSON.stringify({ ...header, alg: "Ed25519" }), JSON.stringify(claims)),
      "ours as eddsa": oursOf(JSON.stringify({ ...header, alg: "eddsa" }), JSON.stringify(claims)),
      "ours as Ed448": oursOf(JSON.stringify({ ...header, alg: "Ed448" }), JSON.stringify(claims)),
      "ours as ES256": oursOf(JSON.stringify({ ...header, alg: "ES256" }), JSON.stringify(claims)),
    }),
  );
  await expectAllRefused(attacks);
});

test("a token that brings its key along, or says where it is: jwk, jku, x5u, x5c, and everything is as before", async () => {
  const own = generateKeyPairSync("ed25519");
  const jwk = { ...own.publicKey.export({ format: "jwk" }), kid: header.kid, alg: "EdDSA", use: "sig" };
  const certificate = randomBytes(300).toString("base64");
  const attacks: Record<string, string> = {};
  for (const more of [
    { jwk },
    { jku: elsewhere },
    { x5u: elsewhere },
    { x5c: [certificate] },
    { x5t: "AAAA", "x5t#S256": "AAAA" },
    { kid: elsewhere, jku: elsewhere },
    { iss: elsewhere, jku: `${server.url}/.well-known/jwks.json` },
  ]) {
    const name = Object.keys(more).join(" ");
    const withIt = { ...header, ...more };
    attacks[name] = await new SignJWT(claims).setProtectedHeader(withIt).sign(own.privateKey);
    attacks[`ours with ${name}`] = oursOf(JSON.stringify(withIt), JSON.stringify(claims));
  }
  await expectAllRefused(attacks);
});

test("kid: a path, SQL, a URL, very long, of another key, missing, twice", async () => {
  const attacks: Record<string, Attack> = {};
  for (const kid of [
    "../../../../dev/null",
    "/proc/self/environ",
    "secret.key",
    "' or '1'='1",
    "'; drop table signing_keys; --",
    elsewhere,
    "x".repeat(100),
    `${header.kid}\u0000`,
    header.kid.toUpperCase(),
    `{${header.kid}}`,
    "00000000-0000-0000-0000-000000000000",
    "01a20689-b2d1-782c-9532-9c1001f9cb0f",
    "__proto__",
    "constructor",
    "",
    null,
    0,
    1,
    -1,
    [header.kid],
    { kid: header.kid },
    true,
  ])
    attacks[`ours with ${JSON.stringify(kid)}`] = {
      token: oursOf(JSON.stringify({ ...header, kid }), JSON.stringify(claims)),
    };
  attacks["long"] = { token: oursOf(JSON.stringify({ ...header, kid: "x".repeat(2_000) }), JSON.stringify(claims)) };
  attacks["missing"] = { token: oursOf(JSON.stringify({ alg: "EdDSA", typ: "at+jwt" }), JSON.stringify(claims)) };
  const twice = `{"alg":"EdDSA","typ":"at+jwt","kid":"x","kid":"${header.kid}"}`;
  attacks["twice"] = { token: oursOf(twice, JSON.stringify(claims)) };
  await expectAllRefused(attacks);
});

test("extensions: crit, b64, zip, and types that are not an access token's", async () => {
  const attacks: Record<string, string> = {};
  const changes: object[] = [
    { crit: ["b64"], b64: false },
    { b64: false },
    { crit: ["exp"], exp: 0 },
    { crit: [] },
    { crit: ["x"], x: 1 },
    { zip: "DEF" },
    { enc: "A256GCM" },
    { cty: "JWT" },
    ...["JWT", "jwt", "at+JWT", "AT+JWT", "application/at+jwt", "at+jwt ", "dpop+jwt", "", null, ["at+jwt"]].map(
      (typ) => ({
        typ,
      }),
    ),
  ];
  for (const change of changes)
    attacks[JSON.stringify(change)] = oursOf(JSON.stringify({ ...header, ...change }), JSON.stringify(claims));
  attacks["no typ"] = oursOf(JSON.stringify({ alg: "EdDSA", kid: header.kid }), JSON.stringify(claims));
  attacks["alg twice"] = oursOf(
    `{"alg":"none","alg":"EdDSA","typ":"at+jwt","kid":"${header.kid}"}`,
    JSON.stringify(claims),
  );
  attacks["spaces"] = oursOf(JSON.stringify(header, null, 1), JSON.stringify(claims));
  attacks["payload not encoded (b64: false)"] = `${parts[0]}.${JSON.stringify(claims)}.${parts[2]}`;
  await expectAllRefused(attacks);
});

test("claims: time, audience, issuer, whose it is", async () => {
  const now = Math.floor((await server.clock.now()) / 1000);
  const changes: object[] = [
    { iat: now - 601, exp: now - 1 },
    { iat: now - 600, exp: now },
    { exp: undefined },
    { exp: null },
    { exp: String(now + 300) },
    { exp: now + 300.5 },
    { exp: 1e300 },
    { exp: Number.MAX_SAFE_INTEGER },
    { exp: now + 86_400 },
    { exp: [now + 300] },
    { exp: -1 },
    { iat: undefined },
    { iat: now + 300, exp: now + 600 },
    { iat: String(now) },
    { iat: now - 86_400, exp: now + 300 },
    { nbf: now + 300 },
    { nbf: "soon" },
    { aud: "autograph" },
    { aud: [claims.aud] },
    { aud: [claims.aud, "other"] },
    { aud: undefined },
    { aud: `${claims.aud}/` },
    { aud: null },
    { iss: "autograph" },
    { iss: elsewhere },
    { iss: undefined },
    { iss: [claims.iss] },
    { sub: undefined },
    { sub: claims.sub.toUpperCase() },
    { sub: "user_00000000000000000000000000" },
    { sub: claims.org },
    { sub: [claims.sub] },
    { sub: { toString: "x" } },
    { org: undefined },
    { org: "org_00000000000000000000000000" },
    { sid: undefined },
    { sid: "session_00000000000000000000000000" },
    { sid: "' or true --" },
    { client: undefined },
    { client: "admin" },
    { client: ["ui"] },
  ];
  const attacks: Record<string, string> = {};
  for (const change of changes)
    attacks[`ours with ${JSON.stringify(change)}`] = oursOf(
      JSON.stringify(header),
      JSON.stringify({ ...claims, ...change }),
    );
  for (const payload of ["", "null", "[]", '"text"', "{", "1", "{}", "\ufeff{}", '{"exp":1e999}', "{'a':1}"])
    attacks[`ours: ${payload}`] = oursOf(JSON.stringify(header), payload);
  const twice = `${JSON.stringify(claims).slice(0, -1)},"sub":"user_00000000000000000000000000"}`;
  attacks["ours, sub twice"] = oursOf(JSON.stringify(header), twice);
  attacks["sub twice"] = `${parts[0]}.${encode(twice)}.${parts[2]}`;
  attacks["__proto__"] = `${parts[0]}.${encode(`{"__proto__":${JSON.stringify(claims)}}`)}.${parts[2]}`;
  await expectAllRefused(attacks);
});

/** The order of the group that Ed25519 signs in: S + L is the same number there, which RFC 8032 forbids to accept. */
const L = 2n ** 252n + 27742317777372353535851937790883648493n;

function withLargerS(signature: string): string {
  const bytes = Buffer.from(signature, "base64url");
  let s = BigInt(`0x${Buffer.from(bytes.subarray(32).toReversed()).toString("hex")}`) + L;
  for (let index = 32; index < 64; index++, s >>= 8n) bytes[index] = Number(s & 255n);
  return bytes.toString("base64url");
}

test("other forms: the signature written otherwise, missing or of something else; JSON; JWE; more parts; long ones", async () => {
  const [head_, payload, signature] = parts;
  const other = good.replace(signature, sign(null, Buffer.from("other"), pair.private).toString("base64url"));
  const jwe = await new CompactEncrypt(Buffer.from(good))
    .setProtectedHeader({ alg: "dir", enc: "A256GCM", kid: header.kid, typ: "at+jwt" })
    .encrypt(randomBytes(32));
  const last = signature.at(-1)!;
  await expectAllRefused({
    "S + L": `${head_}.${payload}.${withLargerS(signature)}`,
    "all zero": `${head_}.${payload}.${Buffer.alloc(64).toString("base64url")}`,
    "the neutral point": `${head_}.${payload}.${Buffer.concat([Buffer.from([1]), Buffer.alloc(63)]).toString("base64url")}`,
    "spare bits": good.slice(0, -1) + String.fromCharCode(last.charCodeAt(0) + 1),
    padding: `${good}==`,
    "one more byte": `${good}A`,
    "one byte less": good.slice(0, -2),
    "standard base64":
      good.replaceAll("-", "+").replaceAll("_", "/") === good
        ? `${good}+`
        : good.replaceAll("-", "+").replaceAll("_", "/"),
    "no signature": `${head_}.${payload}.`,
    "no third part": `${head_}.${payload}`,
    "of another text": other,
    "four parts": `${good}.${signature}`,
    "five parts": `${good}.${signature}.${signature}`,
    "an empty part before": `.${good}`,
    "a dot behind": `${good}.`,
    "a JWE": jwe,
    "in JSON": JSON.stringify({ protected: head_, payload, signature }),
    "in general JSON": JSON.stringify({ payload, signatures: [{ protected: head_, signature }] }),
    "in JSON with a header beside": JSON.stringify({ payload, header: { alg: "none" }, signature: "" }),
    twice: `${good}, Bearer ${good}`,
    "two words": `${good} ${good}`,
    "4,000 characters": { token: `${head_}.${"A".repeat(4_000 - head_.length - 88)}.${signature}` },
    "15 kB": { token: "A".repeat(15_000), closes: BAD_REQUEST },
    "15 kB of a token": { token: `${good}${"A".repeat(14_000)}`, closes: BAD_REQUEST },
    "15 kB of dots": { token: ".".repeat(15_000), closes: BAD_REQUEST },
    "a refresh token": refreshToken,
    "a refresh token as a signature": `${head_}.${payload}.${refreshToken}`,
    "the id of the session": claims.sid,
  });
});

test("characters that no header may have: refused over HTTP by bytes, and in a WebSocket's message", async () => {
  for (const text of ["\u0000", "\r", "\u007f", "\u00ad", "ü", "é\u0301", "\u202e", "😀", "\ud800", "\\u0000"]) {
    for (const token of [good + text, text + good, good.replace(".", `.${text}`)]) {
      expect(await open(token), JSON.stringify(text)).toBe(UNAUTHORIZED);
      using raw = await connect(server);
      raw.write(Buffer.from(head(2, token).replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n{}"), "utf8"));
      await raw.closed;
      expect(raw.got(), JSON.stringify(text)).toMatch(/^HTTP\/1\.1 40[01] /);
    }
  }
  using raw = await connect(server);
  raw.write(head(2, "A".repeat(17_000)) + "{}");
  await raw.closed;
  expect(raw.got()).toMatch(/^HTTP\/1\.1 431 /);
});

test("a token that was good: of a session that ended, that moved, of a member who was removed; and of another deployment", async () => {
  const world = await server.organization("tokens");
  const ended = await signIn(server, world);
  await server.data("mutation { logout { id } }", {}, ended.accessToken);

  const guest = await server.memberOf(world, "guest-of-tokens@example.org", "viewer");
  const { id: other } = (await server.data("{ organization { id } }")).organization;
  await server.member("guest-of-tokens@example.org", "viewer");
  const moved = await signIn(server, guest);
  const target = (await server.data("{ organization { id } }", {}, moved.accessToken)).organization.id;
  const to = target === other ? world.organizationId : other;
  const refresh = "mutation ($input: RefreshTokenInput!) { refreshToken(input: $input) { accessToken } }";
  const here = (await server.data(refresh, { input: { refreshToken: moved.refreshToken, organizationId: to } }, null))
    .refreshToken;
  expect((await ask(here.accessToken)).status).toBe(200);

  const leaver = await server.memberOf(world, "leaver-of-tokens@example.org", "viewer");
  const removed = await signIn(server, leaver);
  const { members } = await server.data("{ members { nodes { id user { email } } } }", {}, world.apiKey);
  const { id: memberId } = members.nodes.find(({ user }: Data) => user.email === leaver.email);
  const remove = "mutation ($id: ID!) { removeMember(input: {memberId: $id}) { id } }";
  await server.data(remove, { id: memberId }, (await signIn(server, world)).accessToken);

  await using deployment = await startTestServer({ fresh: "from nothing" });
  const theirs = await keyOf(deployment);
  expect(theirs.issuer).not.toBe(claims.iss);
  const foreign = (change: object, more: object): Promise<string> =>
    new SignJWT({ ...claims, ...change }).setProtectedHeader({ ...header, ...more }).sign(theirs.pair.private);
  await expectAllRefused({
    "signed out": ended.accessToken,
    "moved to another organization": moved.accessToken,
    "removed from it": removed.accessToken,
    "ours for a session in another organization": await ours({
      org: other === claims.org ? world.organizationId : other,
    }),
    "another deployment's": await foreign({ iss: theirs.issuer, aud: theirs.issuer }, { kid: theirs.kid }),
    "another deployment's with our names": await foreign({}, { kid: theirs.kid }),
    "another deployment's with our names and kid": await foreign({}, {}),
  });
});

test("an access token is not a refresh token, neither in the mutation nor in the cookie", async () => {
  const refresh = "mutation ($input: RefreshTokenInput!) { refreshToken(input: $input) { accessToken } }";
  const { errors } = await server.graphql(refresh, { input: { refreshToken: good } }, null);
  expect(errors).toMatchObject([{ extensions: { code: "UNAUTHENTICATED" } }]);
  const { host } = new URL(server.url);
  const answer = await fetch(`${server.url}/auth/session/refresh`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: `http://${host}`, cookie: `autograph_session=${good}` },
    body: "{}",
  });
  expect([answer.status, answer.headers.get("set-cookie")]).toEqual([401, null]);
  expect((await ask(good)).status).toBe(200);
});
