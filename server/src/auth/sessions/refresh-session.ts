import { record } from "../../audit/record.ts";
import type { From } from "../../audit/event.ts";
import { notFound, Refusal } from "../../lib/errors.ts";
import type { OrganizationId, SessionId, UserId } from "../../lib/ids.ts";
import type { Auth } from "../handle/auth.ts";
import { badRefreshToken } from "../bad-credential.ts";
import { hashToken, nextRefreshToken, readRefreshToken, type RefreshToken } from "../refresh-token.ts";
import { holdUserOf, readSession, revokeSession, rotateSession, type Rotated, type Rotation } from "./session-store.ts";
import type { Query } from "../../storage/database.ts";
import { issueTokens, type SignedIn } from "./session.ts";

type RefreshRequest = {
  refreshToken: string;
  organizationId?: OrganizationId | undefined;
  /** The client's address, which is known from then on. */
  address?: string | undefined;
  userAgent?: string | undefined;
};

const refused = (text: string): Refusal => new Refusal("UNAUTHENTICATED", badRefreshToken(text));

/**
 * Exchanges a refresh token, which is void from then on; `organizationId` moves the session there. Using a token
 * a second time ends the whole session: one of the two users is a thief (RFC 9700, 4.14.2). The tabs of a browser share one
 * token, so a session of the web UI keeps it for a moment, and takes the one before as well (decision 0023). Throws
 * UNAUTHENTICATED, or NOT_FOUND for an organization the user is no member of, or has left with this session (the token then
 * stays good).
 */
export async function refreshSession(auth: Auth, request: RefreshRequest): Promise<SignedIn> {
  const token = readRefreshToken(auth.refreshKey, request.refreshToken);
  if (!token) throw refused(request.refreshToken);
  return auth.refreshTurns({ group: token.account, isKnown: true }, () => refresh(auth, token, request));
}

async function refresh(auth: Auth, token: RefreshToken, request: RefreshRequest): Promise<SignedIn> {
  const next = nextRefreshToken(auth.refreshKey, request.refreshToken, token);
  const now = auth.clock.now();
  const rotation = {
    ...token,
    secretHash: hashToken(request.refreshToken),
    nextSecretHash: hashToken(next),
    organizationId: request.organizationId,
    now,
  };
  const rotated = await auth.database.transaction((query) => rotate(auth, query, rotation, fromOf(request)));
  if (!rotated) throw await reasonOf(auth, token, request);
  auth.sessions.invalidate(rotated.formerOrganizationId, token.sessionId);
  auth.sessions.invalidate(rotated.organizationId, token.sessionId);
  if (request.address !== undefined) {
    await auth.knownAddresses.note({ id: rotated.userId, email: rotated.email }, request.address);
  }
  const isKept = rotated.generation === token.generation;
  return issueTokens(auth, { id: token.sessionId, ...rotated }, isKept ? request.refreshToken : next);
}

const fromOf = ({ address, userAgent }: RefreshRequest): From => ({ address: address ?? null, userAgent });

/** In another organization that is a sign-in. Throws RATE_LIMITED: the token then stays good. */
async function rotate(auth: Auth, query: Query, rotation: Rotation, from: From): Promise<Rotated | undefined> {
  if (!(await holdUserOf(query, rotation.sessionId))) return undefined;
  const rotated = await rotateSession(query, rotation);
  if (!rotated || rotated.organizationId === rotated.formerOrganizationId) return rotated;
  const { organizationId, userId, client } = rotated;
  auth.signIns.count(userId);
  const who = { organizationId, actor: { kind: "user", id: userId } as const, from };
  const subject = { kind: "session", id: rotation.sessionId } as const;
  await record(query, who, rotation.now, { action: "signed_in", subject, detail: { client, switched: true } });
  return rotated;
}

async function reasonOf(auth: Auth, token: RefreshToken, request: RefreshRequest): Promise<Refusal> {
  const now = auth.clock.now();
  const session = await readSession(auth.database, token.sessionId, now);
  if (!session?.isLive) return refused(request.refreshToken);
  const isGood =
    session.generation === token.generation || (session.isHeld && session.generation === token.generation + 1);
  if (isGood) return request.organizationId === undefined ? refused(request.refreshToken) : notFound("Organization");
  await revokeFamily(auth, { ...session, sessionId: token.sessionId, now }, fromOf(request));
  auth.sessions.invalidate(session.organizationId, token.sessionId);
  const { userId: user } = session;
  auth.log.warn({ session: token.sessionId, user }, "a refresh token was used twice: its session was ended");
  return new Refusal("UNAUTHENTICATED", "this refresh token was used before: the session is ended, sign in again");
}

type Family = { organizationId: OrganizationId; userId: UserId; sessionId: SessionId; now: number };

const revokeFamily = (auth: Auth, { organizationId, userId, sessionId, now }: Family, from: From): Promise<void> =>
  auth.database.transaction(async (query) => {
    if (!(await revokeSession(query, organizationId, sessionId, now))) return;
    const who = { organizationId, actor: { kind: "user", id: userId } as const, from };
    await record(query, who, now, { action: "refresh_token_reused", subject: { kind: "session", id: sessionId } });
  }, organizationId);
