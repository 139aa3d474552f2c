/**
 * Tokens of links that are given to people: 32 random bytes and a mark of 16, an HMAC over them, so that a made-up token costs no
 * statement. At rest only the SHA-256 is kept.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** A kind of link. `prefix` says what a token is for, `key` marks it. */
export type LinkKind = { prefix: string; key: Buffer };

const BODY = 32;
const MARK = 16;

const mark = (key: Buffer, body: Buffer): Buffer => createHmac("sha256", key).update(body).digest().subarray(0, MARK);

export function makeToken({ prefix, key }: LinkKind): string {
  const body = randomBytes(BODY);
  return prefix + Buffer.concat([body, mark(key, body)]).toString("base64url");
}

export const hashOf = (token: string): Buffer => createHash("sha256").update(token).digest();

/** Returns its hash. Undefined if this installation did not make the token. 48 bytes have one form in base64url. */
export function readToken({ prefix, key }: LinkKind, token: string): Buffer | undefined {
  if (!token.startsWith(prefix) || !/^[\w-]{64}$/.test(token.slice(prefix.length))) return undefined;
  const bytes = Buffer.from(token.slice(prefix.length), "base64url");
  const body = bytes.subarray(0, BODY);
  return timingSafeEqual(mark(key, body), bytes.subarray(BODY)) ? hashOf(token) : undefined;
}
