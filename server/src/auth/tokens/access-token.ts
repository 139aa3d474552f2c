/**
 * Access tokens: JWT (EdDSA, Ed25519; RFC 9068), good for 10 minutes, with the claims `sub` (user), `org`, `sid` (session) and
 * `client` (`api` or `ui`). Ids in it are TypeIDs. Each process verifies a token once and remembers it until it expires.
 */
import { errors, jwtVerify, SignJWT, type JWTPayload } from "jose";
import { LRUCache } from "lru-cache";
import type { Clock } from "../../lib/clock.ts";
import {
  decodeId,
  encodeId,
  newId,
  type Id,
  type Kind,
  type OrganizationId,
  type SessionId,
  type UserId,
} from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Client } from "../caller.ts";
import type { SigningKeys } from "./signing-keys.ts";

export type AccessClaims = {
  userId: UserId;
  organizationId: OrganizationId;
  sessionId: SessionId;
  client: Client;
  /** ms since 1970. */
  expiresAt: number;
};

/** "expired": it was good, and everything else about it is right. */
export type Verified = AccessClaims | "expired" | undefined;

export type AccessTokens = {
  /** `iss` and `aud`. */
  issuer: string;
  issue(claims: Omit<AccessClaims, "expiresAt">): Promise<{ token: string; expiresAt: number }>;
  /** Undefined when the token is not from here, or was changed. */
  verify(token: string): Promise<Verified>;
};

const ALGORITHM = "EdDSA";
const TYPE = "at+jwt";
const LIFE_SECONDS = LIMITS.accessTokenMinutes * 60;
/** How far the clock of the process that issued a token may be ahead. */
const AHEAD_SECONDS = LIMITS.signingKeyGraceSeconds;
/** About 700 bytes each. A verification costs about 0.1 ms, a look-up nothing. */
const REMEMBERED = 5_000;

const headerOf = (kid: string) => ({ alg: ALGORITHM, typ: TYPE, kid });

/** `issuer`: what no other deployment has as its name. */
export function createAccessTokens(clock: Clock, keys: SigningKeys, issuer: string): AccessTokens {
  const verified = new LRUCache<string, AccessClaims>({ max: REMEMBERED });

  return {
    issuer,
    issue: async (claims) => {
      const key = await keys.current();
      // `exp` is in whole seconds: rounded down, so that the answer never promises more than the token holds.
      const issuedAt = Math.floor(clock.now() / 1000);
      const token = await new SignJWT({
        org: encodeId("organization", claims.organizationId),
        sid: encodeId("session", claims.sessionId),
        client: claims.client,
        client_id: claims.client,
      })
        .setProtectedHeader(headerOf(key.id))
        .setSubject(encodeId("user", claims.userId))
        .setJti(newId())
        .setIssuer(issuer)
        .setAudience(issuer)
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + LIFE_SECONDS)
        .sign(key.private);
      return { token, expiresAt: (issuedAt + LIFE_SECONDS) * 1000 };
    },
    verify: async (token) => {
      const known = verified.get(token);
      if (known) {
        if (known.expiresAt > clock.now()) return known;
        verified.delete(token);
        return "expired";
      }
      const kid = keyIdOf(token);
      if (kid === undefined) return undefined;
      const payload = await payloadOf(token, keys.publicKey(kid), issuer, clock.now());
      if (typeof payload !== "object") return payload;
      const claims = claimsOf(payload, issuer, clock.now());
      // Last, because it may ask the database: the sender has proven to have had a key of this installation.
      if (!claims || !(await keys.isInUse(kid))) return undefined;
      verified.set(token, claims);
      return claims;
    },
  };
}

/** The canonical form of an Ed25519 signature of 64 bytes: the last character has four spare bits. */
const PARTS = /^([\w-]{1,200})\.[\w-]{1,2000}\.[\w-]{85}[AQgw]$/;
const KEY_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Undefined for anything that this program has not written: the header must be the very text that `issue` writes for its key. So
 * no other algorithm and no key, address or extension that a token brings along is ever looked at.
 */
function keyIdOf(token: string): string | undefined {
  const encoded = PARTS.exec(token)?.[1];
  if (encoded === undefined) return undefined;
  const kid = Buffer.from(encoded, "base64url").toString().slice(-38, -2);
  const isOurs = KEY_ID.test(kid) && encoded === Buffer.from(JSON.stringify(headerOf(kid))).toString("base64url");
  return isOurs ? kid : undefined;
}

async function payloadOf(
  token: string,
  key: ReturnType<SigningKeys["publicKey"]>,
  issuer: string,
  now: number,
): Promise<JWTPayload | "expired" | undefined> {
  const options = { algorithms: [ALGORITHM], typ: TYPE, issuer, audience: issuer, currentDate: new Date(now) };
  try {
    return (await jwtVerify(token, key, { ...options, requiredClaims: ["exp", "iat", "sub"] })).payload;
  } catch (error) {
    return error instanceof errors.JWTExpired ? "expired" : undefined;
  }
}

function claimsOf(payload: JWTPayload, issuer: string, now: number): AccessClaims | undefined {
  const { aud, sub, org, sid, client, iat, exp } = payload;
  const isInTime =
    Number.isSafeInteger(iat) &&
    Number.isSafeInteger(exp) &&
    iat! <= now / 1000 + AHEAD_SECONDS &&
    exp! - iat! <= LIFE_SECONDS;
  const userId = idIn("user", sub);
  const organizationId = idIn("organization", org);
  const sessionId = idIn("session", sid);
  if (!isInTime || aud !== issuer || !userId || !organizationId || !sessionId) return undefined;
  if (client !== "api" && client !== "ui") return undefined;
  return { userId, organizationId, sessionId, client, expiresAt: exp! * 1000 };
}

const idIn = <K extends Kind>(kind: K, claim: unknown): Id<K> | undefined =>
  typeof claim === "string" ? decodeId(kind, claim) : undefined;
