/**
 * Access tokens: JWT (EdDSA, Ed25519), good for 10 minutes, with the claims `sub` (user), `org`, `sid` (session) and
 * `client` (`api` or `ui`). Ids in it are TypeIDs. Each process verifies a token once and remembers it until it expires.
 */
import { errors, jwtVerify, SignJWT } from "jose";
import { LRUCache } from "lru-cache";
import type { Clock } from "../lib/clock.ts";
import { decodeId, encodeId, type OrganizationId, type SessionId, type UserId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Client } from "./caller.ts";
import type { SecretKeys } from "./secret-key.ts";

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
  issue(claims: Omit<AccessClaims, "expiresAt">): Promise<{ token: string; expiresAt: number }>;
  /** Undefined when the token is not from here, or was changed. */
  verify(token: string): Promise<Verified>;
};

const NAME = "autograph";
const TYPE = "at+jwt";
const LIFE_MS = LIMITS.accessTokenMinutes * 60_000;
/** About 500 bytes each. A verification costs about 0.1 ms, a look-up nothing. */
const REMEMBERED = 5_000;

export function createAccessTokens(clock: Clock, keys: SecretKeys["signing"]): AccessTokens {
  const verified = new LRUCache<string, AccessClaims>({ max: REMEMBERED });

  return {
    issue: async (claims) => {
      // `exp` is in whole seconds: rounded down, so that the answer never promises more than the token holds.
      const now = clock.now();
      const expiresAt = Math.floor((now + LIFE_MS) / 1000) * 1000;
      const token = await new SignJWT({
        org: encodeId("organization", claims.organizationId),
        sid: encodeId("session", claims.sessionId),
        client: claims.client,
      })
        .setProtectedHeader({ alg: "EdDSA", typ: TYPE })
        .setSubject(encodeId("user", claims.userId))
        .setIssuer(NAME)
        .setAudience(NAME)
        .setIssuedAt(Math.floor(now / 1000))
        .setExpirationTime(expiresAt / 1000)
        .sign(keys.private);
      return { token, expiresAt };
    },
    verify: async (token) => {
      const known = verified.get(token);
      if (known) {
        if (known.expiresAt > clock.now()) return known;
        verified.delete(token);
        return "expired";
      }
      const claims = await check(token, keys, clock.now());
      if (typeof claims === "object") verified.set(token, claims);
      return claims;
    },
  };
}

async function check(token: string, keys: SecretKeys["signing"], now: number): Promise<Verified> {
  const result = await jwtVerify(token, keys.public, {
    algorithms: ["EdDSA"],
    typ: TYPE,
    issuer: NAME,
    audience: NAME,
    currentDate: new Date(now),
    requiredClaims: ["exp", "sub"],
  }).catch((error: unknown) => (error instanceof errors.JWTExpired ? ("expired" as const) : undefined));
  if (typeof result !== "object") return result;
  const { sub, org, sid, client, exp } = result.payload;
  const userId = decodeId("user", String(sub));
  const organizationId = decodeId("organization", String(org));
  const sessionId = decodeId("session", String(sid));
  if (!userId || !organizationId || !sessionId || (client !== "api" && client !== "ui")) return undefined;
  return { userId, organizationId, sessionId, client, expiresAt: exp! * 1000 };
}
