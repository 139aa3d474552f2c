/**
 * Refresh tokens: `rt_` and base64url of session (16 bytes), generation (4), account (8), randomness (24) and a mark (16): an
 * HMAC over the rest. With the mark a made-up token costs no query, and an older one of a session is known to be genuine,
 * so that only someone who held it can end the session by using it again. The account is the end of the user's id, so that
 * turns are taken by account before anything is read. At rest only the token's SHA-256 is kept.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { SessionId, UserId } from "../lib/ids.ts";

export type RefreshToken = { sessionId: SessionId; generation: number; account: string };

export const REFRESH_TOKEN_PREFIX = "rt_";
const SESSION = 16;
const ACCOUNT = 8;
const RANDOM = 24;
const HEAD = SESSION + 4 + ACCOUNT;
const BODY = HEAD + RANDOM;
const MARK = 16;

const mark = (key: Buffer, body: Buffer): Buffer => createHmac("sha256", key).update(body).digest().subarray(0, MARK);

export const accountOf = (userId: UserId): string => userId.replaceAll("-", "").slice(-2 * ACCOUNT);

export const hashToken = (token: string): Buffer => createHash("sha256").update(token).digest();

export function makeRefreshToken(
  key: Buffer,
  { sessionId, generation, account }: RefreshToken,
  random = randomBytes(RANDOM),
): string {
  const body = Buffer.concat([Buffer.alloc(HEAD), random.subarray(0, RANDOM)]);
  body.write(sessionId.replaceAll("-", ""), 0, "hex");
  body.writeUInt32BE(generation, SESSION);
  body.write(account, SESSION + 4, "hex");
  return REFRESH_TOKEN_PREFIX + Buffer.concat([body, mark(key, body)]).toString("base64url");
}

/**
 * The one that replaces `token`: always the same, so that the answer to a refresh can be given again although only its hash is
 * kept. Who has the former one cannot work it out without the key.
 */
export const nextRefreshToken = (key: Buffer, token: string, of: RefreshToken): string =>
  makeRefreshToken(
    key,
    { ...of, generation: of.generation + 1 },
    createHmac("sha256", key).update(`next ${token}`).digest(),
  );

/** The token's owner. Undefined if this installation did not issue it. */
export function readRefreshToken(key: Buffer, token: string): RefreshToken | undefined {
  if (!/^rt_[\w-]{91}$/.test(token)) return undefined;
  const bytes = Buffer.from(token.slice(REFRESH_TOKEN_PREFIX.length), "base64url");
  // The last character has two spare bits: only the form that was given out is one.
  if (bytes.toString("base64url") !== token.slice(REFRESH_TOKEN_PREFIX.length)) return undefined;
  const body = bytes.subarray(0, BODY);
  if (!timingSafeEqual(mark(key, body), bytes.subarray(BODY))) return undefined;
  const hex = body.toString("hex", 0, SESSION);
  const uuid = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
  const account = body.toString("hex", SESSION + 4, HEAD);
  return { sessionId: uuid as SessionId, generation: body.readUInt32BE(SESSION), account };
}
