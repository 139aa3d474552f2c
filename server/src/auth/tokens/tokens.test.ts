import { expect, test } from "vitest";
import { newId } from "../../lib/ids.ts";
import { redact } from "../../lib/log/log.ts";
import { API_KEY_PREFIX, hintOf, isApiKey, makeApiKey } from "../api-key.ts";
import { accountOf, makeRefreshToken, readRefreshToken } from "../refresh-token.ts";

const key = Buffer.alloc(32, 1);

test("a refresh token names its session, generation and account", () => {
  const sessionId = newId<"session">();
  const of = { sessionId, generation: 70_000, account: accountOf(newId<"user">()) };
  const token = makeRefreshToken(key, of);
  expect(readRefreshToken(key, token)).toEqual(of);
  expect(makeRefreshToken(key, of)).not.toBe(token);
  expect(redact(token)).toBe("[redacted]");
});

test("a refresh token that this installation did not make is told apart", () => {
  const token = makeRefreshToken(key, { sessionId: newId(), generation: 1, account: accountOf(newId()) });
  expect(readRefreshToken(Buffer.alloc(32, 2), token)).toBeUndefined();
  for (let index = 3; index < token.length; index++) {
    const other = token[index] === "A" ? "Q" : "A";
    expect(readRefreshToken(key, token.slice(0, index) + other + token.slice(index + 1)), `${index}`).toBeUndefined();
  }
  const spare = token.slice(0, -1) + String.fromCharCode(token.charCodeAt(token.length - 1) + 1);
  for (const text of ["", "rt_", spare, token.slice(1), `${token}=`, `${token} `, token.toUpperCase()]) {
    expect(readRefreshToken(key, text), text).toBeUndefined();
  }
});

test("an API key has 32 random characters and a checksum", () => {
  const secret = makeApiKey();
  expect(secret).toMatch(/^ag_live_[0-9A-Za-z]{38}$/);
  expect(isApiKey(secret)).toBe(true);
  expect(hintOf(secret)).toBe(secret.slice(-4));
  expect(redact(`Bearer ${secret}`)).not.toContain(secret.slice(8));
  expect(new Set(Array.from({ length: 1_000 }, makeApiKey)).size).toBe(1_000);
});

test("a known key keeps its checksum from release to release", () => {
  expect(isApiKey(`ag_live_${"0".repeat(32)}01v4id`)).toBe(true);
  expect(isApiKey(`ag_live_${"0".repeat(32)}01v4ie`)).toBe(false);
});

test("every typo is told apart without a look-up", () => {
  const secret = makeApiKey();
  for (let index = API_KEY_PREFIX.length; index < secret.length; index++) {
    const other = secret[index] === "a" ? "b" : "a";
    expect(isApiKey(secret.slice(0, index) + other + secret.slice(index + 1)), `${index}`).toBe(false);
  }
  for (const text of [
    "",
    API_KEY_PREFIX,
    secret.slice(0, -1),
    `${secret}0`,
    `${secret}\n`,
    secret.replace("live", "test"),
  ]) {
    expect(isApiKey(text), text).toBe(false);
  }
});
