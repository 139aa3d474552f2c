/** The room's handle. */
import type { Auth } from "../auth/handle/auth.ts";
import type { Mail } from "../mail/mail.ts";

export type Members = {
  auth: Auth;
  mail: Mail;
  /** HMAC key of invitations. */
  invitationKey: Buffer;
  /** How people reach the server, for the links that are given to them. */
  url: string;
};
