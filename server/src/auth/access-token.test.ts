import { randomBytes } from "node:crypto";
import { SignJWT, UnsecuredJWT } from "jose";
import { expect, test } from "vitest";
import { testClock } from "../../../test/clock.ts";
import { newId } from "../lib/ids.ts";
import { createAccessTokens, type AccessClaims } from "./access-token.ts";
import { secretKeys } from "./secret-key.ts";

const keys = secretKeys(Buffer.alloc(32, 7));
const who: Omit<AccessClaims, "expiresAt"> = {
  userId: newId(),
  organizationId: newId(),
  sessionId: newId(),
  client: "ui",
};

test("comes back as it was issued, for ten minutes", async () => {
  const clock = testClock();
  const tokens = createAccessTokens(clock, keys.signing);
  const { token, expiresAt } = await tokens.issue(who);
  expect(expiresAt).toBe(clock.now() + 600_000);
  for (let time = 0; time < 2; time++) expect(await tokens.verify(token)).toEqual({ ...who, expiresAt });
  clock.pass(599_999);
  expect(await tokens.verify(token)).toBeDefined();
  expect(await createAccessTokens(clock, keys.signing).verify(token)).toBeDefined();
  clock.pass(1);
  expect(await tokens.verify(token)).toBe("expired");
  expect(await createAccessTokens(clock, keys.signing).verify(token)).toBe("expired");
  expect(await createAccessTokens(clock, keys.signing).verify(`${token.slice(0, -4)}AAAA`)).toBeUndefined();
});

test("the claims are TypeIDs, the algorithm EdDSA", async () => {
  const { token } = await createAccessTokens(testClock(), keys.signing).issue(who);
  const [header, payload] = token
    .split(".")
    .slice(0, 2)
    .map((part) => JSON.parse(Buffer.from(part, "base64url").toString()));
  expect(header).toEqual({ alg: "EdDSA", typ: "at+jwt" });
  expect(payload).toMatchObject({ iss: "autograph", aud: "autograph", client: "ui" });
  expect([payload.sub, payload.org, payload.sid].map((id: string) => id.split("_")[0])).toEqual([
    "user",
    "org",
    "session",
  ]);
});

test("nothing else passes", async () => {
  const clock = testClock();
  const tokens = createAccessTokens(clock, keys.signing);
  const { token } = await tokens.issue(who);
  const [header, payload, signature] = token.split(".") as [string, string, string];
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = (change: object, head: object = {}): Promise<string> =>
    new SignJWT({ ...claims, ...change })
      .setProtectedHeader({ alg: "EdDSA", typ: "at+jwt", ...head })
      .sign(keys.signing.private);
  const publicKey = keys.signing.public.export({ format: "pem", type: "spki" });
  const hostile = [
    "",
    ".",
    "..",
    "a.b.c",
    token.slice(0, -2),
    `${token}A`,
    `${header}.${payload}.`,
    `${header}.${encode({ ...claims, sub: claims.org })}.${signature}`,
    `${encode({ alg: "none" })}.${payload}.`,
    new UnsecuredJWT(claims).encode(),
    await new SignJWT(claims)
      .setProtectedHeader({ alg: "HS256", typ: "at+jwt" })
      .sign(new TextEncoder().encode(publicKey as string)),
    await signed({ iss: "other" }),
    await signed({ aud: "other" }),
    await signed({ exp: undefined }),
    await signed({ sub: undefined }),
    await signed({ sub: "user_1" }),
    await signed({ org: null }),
    await signed({ client: "root" }),
    await signed({}, { typ: "JWT" }),
    (await createAccessTokens(clock, secretKeys(randomBytes(32)).signing).issue(who)).token,
  ];
  expect(await tokens.verify(await signed({}))).toBeDefined();
  for (const text of hostile) expect(await tokens.verify(text), text).toBeUndefined();
});
