/** The one-time token of the setup link, kept in memory only and valid for 30 minutes. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { LIMITS } from "../../lib/limits.ts";

export type SetupLink = {
  /** A new token (base64url); the one before is void. `expiresAt` in ms since 1970. */
  issue(): { token: string; expiresAt: number };
  /** Whether one was given out and not used; it may have expired. */
  isOpen(): boolean;
  fits(token: string): boolean;
  /** After it was used. */
  close(): void;
};

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

export function createSetupLink(clock: Clock): SetupLink {
  let open: { hash: Buffer; expiresAt: number } | undefined;
  return {
    issue: () => {
      const token = randomBytes(32).toString("base64url");
      const expiresAt = clock.now() + LIMITS.setupLinkMinutes * 60_000;
      open = { hash: digest(token), expiresAt };
      return { token, expiresAt };
    },
    isOpen: () => open !== undefined,
    fits: (token) => open !== undefined && clock.now() < open.expiresAt && timingSafeEqual(open.hash, digest(token)),
    close: () => {
      open = undefined;
    },
  };
}
