/**
 * Access tokens by OAuth 2 (RFC 6749). A token is kept in memory until shortly before its end and shared by all runs of the
 * organization that ask with the same client for the same; so is a request for one.
 */
import { hash } from "node:crypto";
import { WorkflowError } from "../../definition/workflow-error.ts";
import type { Clock } from "../../lib/clock.ts";
import { FairCache } from "../../fairness/fair-cache.ts";
import type { OrganizationId } from "../../lib/ids.ts";
import { isScalar } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Outbound, OutboundResponse } from "../../outbound/outbound.ts";
import { answerIn, askAuthority, errorIn, refusedBy } from "./authority.ts";
import { createDiscovery } from "./discovery.ts";
import { requestFor, type TokenPlan } from "./token-request.ts";

export type Tokens = {
  /** `isNew`: it was not known before. Rejects with WorkflowError, or with the signal's reason. */
  get(organizationId: OrganizationId, plan: TokenPlan, signal: AbortSignal): Promise<{ token: string; isNew: boolean }>;
  /** The service does not take it: the next one is asked for. */
  forget(organizationId: OrganizationId, plan: TokenPlan, token: string): void;
};

/** Refresh tokens by which an authority has replaced one that an author set. They survive the process. */
export type RefreshTokens = {
  read(organizationId: OrganizationId, key: string): Promise<string | undefined>;
  keep(organizationId: OrganizationId, key: string, token: string): Promise<void>;
};

type Kept = { token: string; until: number };
/** A request in which several calls share. */
type Asking = { token: Promise<string>; callers: { waiting: number } };
type Given = { token: string; seconds: number; refreshToken: string | undefined };

/** The tokens of all organizations. */
const KEPT = 1_000;
/** The life of a token whose answer does not say how long it is good. */
const UNSAID_SECONDS = 60;
/** It must still be good when it arrives. */
const MARGIN_SECONDS = 30;
const MARGIN_SHARE = 0.1;

export function createTokens(outbound: Outbound, clock: Clock, refreshTokens: RefreshTokens): Tokens {
  // A token that is lost must be asked for again, which its authority may count.
  const kept = new FairCache<Kept>(KEPT);
  const asking = new Map<string, Asking>();
  const authority = new Authority(outbound, clock, refreshTokens);

  const ask = (organizationId: OrganizationId, plan: TokenPlan, key: string): Asking => {
    const since = clock.now();
    const callers = { waiting: 0 };
    const isWanted = (): boolean => {
      // Nobody shares it from here on.
      if (callers.waiting === 0) asking.delete(key);
      return callers.waiting > 0;
    };
    const token = authority
      .give(organizationId, plan, isWanted)
      .then(({ token: made, seconds }) => {
        if (seconds > 0) kept.set(organizationId, key, { token: made, until: since + seconds * 1_000 });
        return made;
      })
      .finally(() => {
        if (asking.get(key)?.token === token) asking.delete(key);
      });
    // The error reaches those who wait, if there still are any.
    token.catch(() => {});
    const begun = { token, callers };
    asking.set(key, begun);
    return begun;
  };

  return {
    async get(organizationId, plan, signal) {
      const key = keyOf(organizationId, plan);
      const known = kept.get(organizationId, key);
      if (known && known.until > clock.now()) return { token: known.token, isNew: false };
      const { token, callers } = asking.get(key) ?? ask(organizationId, plan, key);
      callers.waiting++;
      try {
        return { token: await unlessAborted(token, signal), isNew: true };
      } finally {
        callers.waiting--;
      }
    },
    forget(organizationId, plan, token) {
      const key = keyOf(organizationId, plan);
      if (kept.get(organizationId, key)?.token === token) kept.delete(organizationId, key);
    },
  };
}

/** Names all that the token depends on, the client's secret too: another secret means another token. */
const keyOf = (organizationId: OrganizationId, plan: TokenPlan): string =>
  hash("sha256", JSON.stringify([organizationId, plan]), "base64url");

/** The request goes on for the others. */
function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    const over = (): void => signal.removeEventListener("abort", stop);
    promise.then(resolve, reject).finally(over);
  });
}

/** Asks authorities for tokens. */
class Authority {
  readonly #outbound: Outbound;
  readonly #clock: Clock;
  readonly #refreshTokens: RefreshTokens;
  readonly #discovery;
  /** The last request by each refresh token: an authority may take each one once, so they go one after another. */
  readonly #refreshing = new Map<string, Promise<unknown>>();

  constructor(outbound: Outbound, clock: Clock, refreshTokens: RefreshTokens) {
    this.#outbound = outbound;
    this.#clock = clock;
    this.#refreshTokens = refreshTokens;
    this.#discovery = createDiscovery(outbound, clock);
  }

  /** `isWanted` is called when its turn has come: if nobody waits any longer, nothing is asked. */
  give(organizationId: OrganizationId, plan: TokenPlan, isWanted: () => boolean): Promise<Given> {
    if (plan.refreshToken === undefined) return this.#ask(organizationId, plan, undefined);
    // Neither the client's secret nor the scopes: policies that differ in them share the refresh token.
    const owner = [organizationId, plan.at, plan.client.id, plan.refreshToken];
    const key = hash("sha256", JSON.stringify(owner), "base64url");
    const before = this.#refreshing.get(key) ?? Promise.resolve();
    const refresh = async (): Promise<Given> => {
      if (!isWanted()) throw new Error("nobody waits for the token any longer");
      return this.#refresh(organizationId, plan, key);
    };
    const given = before.then(refresh, refresh);
    this.#refreshing.set(key, given);
    const over = (): void => {
      if (this.#refreshing.get(key) === given) this.#refreshing.delete(key);
    };
    given.then(over, over);
    return given;
  }

  async #refresh(organizationId: OrganizationId, plan: TokenPlan, key: string): Promise<Given> {
    const refreshToken = (await this.#refreshTokens.read(organizationId, key)) ?? plan.refreshToken!;
    const given = await this.#ask(organizationId, plan, refreshToken);
    // Before the access token is used: the former refresh token may be worth nothing from here on.
    if (given.refreshToken !== undefined && given.refreshToken !== refreshToken)
      await this.#refreshTokens.keep(organizationId, key, given.refreshToken);
    return given;
  }

  async #ask(organizationId: OrganizationId, plan: TokenPlan, refreshToken: string | undefined): Promise<Given> {
    const { at } = plan;
    const url = "url" in at ? at.url : await this.#discovery.tokenUrl(organizationId, at.authority);
    const { headers, body } = await requestFor(plan, { url, refreshToken, now: this.#clock.now() });
    try {
      return tokenIn(await askAuthority(this.#outbound, { organizationId, method: "POST", url, headers, body }));
    } catch (error) {
      if ("authority" in at) this.#discovery.forget(organizationId, at.authority);
      throw error;
    }
  }
}

const TOKEN = /^[\x21-\x7e]+$/;

const isSendable = (token: unknown): token is string =>
  typeof token === "string" && TOKEN.test(token) && token.length <= LIMITS.secretBytes;

function tokenIn(response: OutboundResponse): Given {
  const { origin } = new URL(response.url);
  if (response.status < 200 || response.status > 299) {
    const hint = errorIn(response) === "invalid_grant" ? GRANT_IS_OVER : "";
    throw refusedBy(response, `to the request for a token${hint}`);
  }
  const answer = answerIn(response);
  const { access_token: token, token_type: type = "Bearer", expires_in: seconds = UNSAID_SECONDS } = answer;
  if (!isSendable(token))
    throw WorkflowError.of("communication", `${origin} answered without a token that can be sent`);
  if (typeof type !== "string" || type.toLowerCase() !== "bearer")
    throw WorkflowError.of("authentication", `${origin} answered with a token of another type than Bearer`);
  // An object's own `toString` or `valueOf` could make `Number` throw.
  const good = isScalar(seconds) ? Number(seconds) || 0 : 0;
  const refreshToken = isSendable(answer["refresh_token"]) ? answer["refresh_token"] : undefined;
  return { token, seconds: good - Math.min(MARGIN_SECONDS, good * MARGIN_SHARE), refreshToken };
}

const GRANT_IS_OVER = ": what stands for the user is used up or taken back, so set a new one";
