/**
 * API keys: `ag_live_`, 32 random base62 characters (190 bits) and a 6-character CRC-32 of what stands before it. The
 * checksum shows a typo without a query, and secret scanners find keys without false alarms. 190 random
 * bits need no slow hash: SHA-256 is kept, the key itself is shown once.
 */
import { hash, randomInt } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Actor } from "../lib/actor.ts";
import type { AgentId, ApiKeyId, ProjectId } from "../lib/ids.ts";

export type ApiKey = {
  id: ApiKeyId;
  name: string;
  /** Its last four characters, which help people to tell keys apart. */
  hint: string;
  createdBy: Actor;
  scopes: string[];
  /** The projects that it is narrowed to, with all their agents; null: to none. If `agentIds` is null too, it reaches the whole organization. */
  projectIds: ProjectId[] | null;
  agentIds: AgentId[] | null;
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
  /** Up to a minute late. */
  lastUsedAt: Date | null;
};

export const API_KEY_PREFIX = "ag_live_";
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM = 32;
const CHECKSUM = 6;
const SHAPE = new RegExp(`^${API_KEY_PREFIX}[0-9A-Za-z]{${RANDOM + CHECKSUM}}$`);

function checksum(body: string): string {
  let left = crc32(body);
  let text = "";
  for (let index = 0; index < CHECKSUM; index++) {
    text = BASE62[left % 62] + text;
    left = Math.floor(left / 62);
  }
  return text;
}

export function makeApiKey(): string {
  const random = Array.from({ length: RANDOM }, () => BASE62[randomInt(62)]).join("");
  return `${API_KEY_PREFIX}${random}${checksum(API_KEY_PREFIX + random)}`;
}

export const isApiKey = (text: string): boolean =>
  SHAPE.test(text) && checksum(text.slice(0, -CHECKSUM)) === text.slice(-CHECKSUM);

export const hintOf = (secret: string): string => secret.slice(-4);

/** As text with a character for each byte, which costs a third of a Buffer. */
export const hashApiKey = (secret: string): string => hash("sha256", secret, "binary");
export const hashBytes = (secretHash: string): Buffer => Buffer.from(secretHash, "latin1");
