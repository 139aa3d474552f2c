/**
 * Invitations. Their tokens are 32 random bytes and a mark of 16: an HMAC over them, so that a made-up token costs no
 * statement. At rest only the SHA-256 is kept.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Actor } from "../lib/actor.ts";
import type { InvitationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Role } from "../storage/schema.ts";
import type { Members } from "./members.ts";

export type Invitation = {
  id: InvitationId;
  /** The only user who may accept; null: any holder of the link. */
  email: string | null;
  role: Role;
  createdBy: Actor;
  createdAt: Date;
  expiresAt: Date;
};

export const INVITATION_LIFE_MS = LIMITS.invitationDays * 86_400_000;

const PREFIX = "inv_";
const BODY = 32;
const MARK = 16;

const mark = (key: Buffer, body: Buffer): Buffer => createHmac("sha256", key).update(body).digest().subarray(0, MARK);

export function makeToken({ invitationKey }: Members): string {
  const body = randomBytes(BODY);
  return PREFIX + Buffer.concat([body, mark(invitationKey, body)]).toString("base64url");
}

export const hashOf = (token: string): Buffer => createHash("sha256").update(token).digest();

/** Undefined if this installation did not make the token. 48 bytes have one form in base64url. */
export function readToken({ invitationKey }: Members, token: string): Buffer | undefined {
  if (!/^inv_[\w-]{64}$/.test(token)) return undefined;
  const bytes = Buffer.from(token.slice(PREFIX.length), "base64url");
  const body = bytes.subarray(0, BODY);
  return timingSafeEqual(mark(invitationKey, body), bytes.subarray(BODY)) ? hashOf(token) : undefined;
}

export const linkOf = ({ url }: Members, token: string): string => `${url}/#invitation=${token}`;
