/** The parts that every kind of call to another server needs. */
import { Slots } from "../../fairness/slots.ts";
import type { OrganizationId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Outbound } from "../../outbound/outbound.ts";
import type { ReadSecrets } from "./authentication.ts";
import type { Credentials } from "./http-response.ts";
import type { Tokens } from "./oauth2-tokens.ts";

export type Calling = {
  outbound: Outbound;
  readSecrets: ReadSecrets;
  tokens: Tokens;
  /** Answers are searched for credentials one at a time per organization: a search may take 30 MB, and a thousand answers may come together. */
  concealing: Slots;
};

export const createConcealing = (): Slots => new Slots(LIMITS.outboundCalls, 1 / LIMITS.outboundCalls);

/** Runs what searches for a call's credentials; at once if there are none. */
export const oneSearchAtATime =
  (concealing: Slots, organizationId: OrganizationId, credentials: Credentials) =>
  <Result>(work: () => Promise<Result>): Promise<Result> =>
    credentials.isEmpty ? work() : concealing.run(organizationId, () => work().finally(() => credentials.rest()));
