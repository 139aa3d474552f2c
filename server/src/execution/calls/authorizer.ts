/** The `Authorization` of a call's requests, and when an answer means that it is sent again with another. */
import { isObject, type JsonObject } from "../../lib/json/json.ts";
import type { OrganizationId } from "../../lib/ids.ts";
import type { OutboundResponse } from "../../outbound/outbound.ts";
import { authorizationOf, userOf } from "./authorize.ts";
import { challengeIn, digestOf, type Challenge } from "./digest.ts";
import type { Tokens } from "./oauth2-tokens.ts";
import { tokenPlan, type TokenPlan } from "./token-request.ts";

export type Authorizer = {
  /** The value for the next request. Throws WorkflowError. */
  authorization(): Promise<string | undefined>;
  /** Whether the request is to be sent again. Returns true at most twice. Throws WorkflowError. */
  wantsAnother(response: OutboundResponse): boolean;
  /** A digest holds for one address. */
  followsRedirects: boolean;
};

export type Sending = {
  tokens: Tokens;
  organizationId: OrganizationId;
  signal: AbortSignal;
  method: string;
  url: string;
  /** Called with what is sent and stands in no definition and no secret. */
  hide(text: string): void;
};

export function createAuthorizer(policy: JsonObject, sending: Sending): Authorizer {
  const { digest, oauth2, oidc } = policy;
  if (isObject(digest)) return byDigest(digest, sending);
  if (isObject(oauth2)) return byToken(tokenPlan("oauth2", oauth2), sending);
  if (isObject(oidc)) return byToken(tokenPlan("oidc", oidc), sending);
  return { authorization: async () => authorizationOf(policy), wantsAnother: () => false, followsRedirects: true };
}

/** First without, as the server's challenge is needed; its nonce may be stale by then, once. */
function byDigest(fields: JsonObject, { method, url }: Sending): Authorizer {
  const login = userOf(fields);
  let challenge: Challenge | undefined;
  let requests = 0;
  return {
    async authorization() {
      requests++;
      return challenge && digestOf(challenge, login, { method, url });
    },
    wantsAnother({ status, headers }) {
      if (status !== 401 || requests > 2) return false;
      const next = challengeIn(headers["www-authenticate"], new URL(url).origin);
      if (!next || (challenge && next.get("stale")?.toLowerCase() !== "true")) return false;
      challenge = next;
      return true;
    },
    followsRedirects: false,
  };
}

/** A token that was kept may have been revoked: then another one is tried, once. */
function byToken(plan: TokenPlan, { tokens, organizationId, signal, hide }: Sending): Authorizer {
  let sent = { token: "", isNew: true };
  return {
    async authorization() {
      sent = await tokens.get(organizationId, plan, signal);
      hide(sent.token);
      return `Bearer ${sent.token}`;
    },
    wantsAnother({ status }) {
      if (status !== 401 || sent.isNew) return false;
      tokens.forget(organizationId, plan, sent.token);
      return true;
    },
    followsRedirects: true,
  };
}
