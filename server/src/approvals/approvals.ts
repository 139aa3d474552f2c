/** The room's handle, the first parameter of each of its operations. */
import type { Auth } from "../auth/handle/auth.ts";
import type { Mail } from "../mail/mail.ts";
import type { Runs } from "../runs/handle/runs.ts";

export type Approvals = {
  runs: Runs;
  auth: Auth;
  mail: Mail;
  /** HMAC key of the links in mails. */
  linkKey: Buffer;
  /** How people reach the server; without a slash at the end. */
  url: string;
};
