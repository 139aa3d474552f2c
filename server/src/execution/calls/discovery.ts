/** Where an OpenID Connect authority gives tokens (OpenID Connect Discovery 1.0). Its document is kept in memory for an hour. */
import { WorkflowError } from "../../definition/workflow-error.ts";
import { DISCOVERY_PATH, issuerOf } from "../../definition/rules/token-endpoint.ts";
import { FairCache } from "../../fairness/fair-cache.ts";
import type { Clock } from "../../lib/clock.ts";
import type { OrganizationId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { misreadingOf } from "../../lib/misread-url.ts";
import { parseUrl } from "../../lib/parse-url.ts";
import type { Outbound } from "../../outbound/outbound.ts";
import { answerIn, askAuthority, refusedBy } from "./authority.ts";

export type Discovery = {
  /** The URL of the token endpoint. Throws WorkflowError. */
  tokenUrl(organizationId: OrganizationId, authority: string): Promise<string>;
  /** A request to it failed: the next one looks again. */
  forget(organizationId: OrganizationId, authority: string): void;
};

const KEPT = 1_000;
const KEPT_MS = 3_600_000;

export function createDiscovery(outbound: Outbound, clock: Clock): Discovery {
  const kept = new FairCache<{ url: string; until: number }>(KEPT);
  return {
    async tokenUrl(organizationId, authority) {
      const known = kept.get(organizationId, authority);
      if (known && known.until > clock.now()) return known.url;
      const until = clock.now() + KEPT_MS;
      const url = await discover(outbound, organizationId, authority);
      kept.set(organizationId, authority, { url, until });
      return url;
    },
    forget: (organizationId, authority) => kept.delete(organizationId, authority),
  };
}

async function discover(outbound: Outbound, organizationId: OrganizationId, authority: string): Promise<string> {
  const issuer = issuerOf(authority);
  const url = issuer + DISCOVERY_PATH;
  const response = await askAuthority(outbound, { organizationId, method: "GET", url, headers: {} });
  const { origin } = new URL(response.url);
  if (response.status !== 200) throw refusedBy(response, "to the request for its openid-configuration");
  const { issuer: itself, token_endpoint: endpoint } = answerIn(response);
  const wrong = (why: string): WorkflowError =>
    WorkflowError.of("communication", `the openid-configuration of ${origin} ${why}`);
  // Discovery 1.0, 4.3: otherwise one authority could speak for another.
  if (typeof itself !== "string" || issuerOf(itself) !== issuer) throw wrong("names another issuer than the authority");
  if (typeof endpoint !== "string") throw wrong("has no token_endpoint");
  const to = endpoint.length > LIMITS.authorityCharacters || misreadingOf(endpoint) ? null : parseUrl(endpoint);
  // A query is allowed (RFC 6749, 3.2).
  if (!to || !/^https?:$/.test(to.protocol) || to.username !== "" || to.password !== "" || to.hash !== "")
    throw wrong("has a token_endpoint that is not a URL without user and fragment");
  if (url.startsWith("https:") && to.protocol !== "https:") throw wrong("leads from https to http");
  return endpoint;
}
