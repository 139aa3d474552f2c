/** The answer to signing in and refreshing. */
import type { OrganizationId, SessionId, UserId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Auth } from "../handle/auth.ts";
import type { Client } from "../caller.ts";

export type SignedIn = {
  accessToken: string;
  refreshToken: string;
  /** The access token's end. The refresh token lasts 30 days from its making. */
  expiresAt: Date;
  userId: UserId;
  organizationId: OrganizationId;
  sessionId: SessionId;
};

export const REFRESH_LIFE_MS = LIMITS.refreshTokenDays * 86_400_000;

type Session = { id: SessionId; userId: UserId; organizationId: OrganizationId; client: Client };

export async function issueTokens(auth: Auth, session: Session, refreshToken: string): Promise<SignedIn> {
  const { id: sessionId, userId, organizationId, client } = session;
  const { token, expiresAt } = await auth.accessTokens.issue({ userId, organizationId, sessionId, client });
  return { accessToken: token, refreshToken, expiresAt: new Date(expiresAt), userId, organizationId, sessionId };
}
