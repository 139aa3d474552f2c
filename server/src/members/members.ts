/** The room's handle. */
import type { Auth } from "../auth/handle/auth.ts";
import type { SecretKeys } from "../auth/tokens/secret-key.ts";
import type { Mail } from "../mail/mail.ts";

export type Members = {
  auth: Auth;
  mail: Mail;
  /** HMAC key of invitations. */
  invitationKey: Buffer;
  /** HMAC key of links to set a new password. */
  resetKey: Buffer;
  /** How people reach the server, for the links that are given to them. */
  url: string;
  /** Requests for a new password that were answered and are not queued yet. */
  resets: Set<Promise<void>>;
} & AsyncDisposable;

type MembersOptions = Pick<Members, "auth" | "mail" | "url"> & Pick<SecretKeys, "derive">;

export function createMembers({ derive, ...base }: MembersOptions): Members {
  const resets = new Set<Promise<void>>();
  return {
    ...base,
    invitationKey: derive("invitations v1"),
    resetKey: derive("password resets v1"),
    resets,
    async [Symbol.asyncDispose]() {
      await Promise.all(resets);
    },
  };
}
