/**
 * `/auth/session`: how a page of this server signs in. The refresh token is in a cookie that no script can read and that
 * nothing but this file looks at; the page gets access tokens, and sends them like any other client (docs/api.md).
 */
import { parse, serialize } from "hono/utils/cookie";
import type { Auth } from "../../auth/handle/auth.ts";
import { login, type LoginFrom } from "../../auth/sessions/login.ts";
import { endSession } from "../../auth/sessions/logout.ts";
import { refreshSession } from "../../auth/sessions/refresh-session.ts";
import type { SignedIn } from "../../auth/sessions/session.ts";
import { setUpAndSignIn } from "../../auth/accounts/setup.ts";
import type { Graphql } from "../../graphql/graphql.ts";
import { badInput, messageOf, notFound, Refusal, type Code } from "../../lib/errors.ts";
import { decodeId } from "../../lib/ids.ts";
import { isObject, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { acceptInvitation } from "../../members/accept-invitation.ts";
import type { Members } from "../../members/members.ts";
import { ownPages } from "../addresses.ts";
import type { Admission } from "../admission/admission.ts";
import { sendJson, type Exchange } from "../write-response.ts";
import type { Arrivals } from "../connections/arrivals.ts";
import { readBody } from "../connections/read-body.ts";
import { checkContentType, JSON_BODY } from "../body-format.ts";
import { parseJsonBody } from "../graphql/graphql-request.ts";
import { STATUS } from "../graphql/graphql.ts";
import { Misfit } from "../http-refusal.ts";
import { userAgentOf } from "../request.ts";
import { sendRefusal } from "../send-refusal.ts";

type WebSessions = { isFor(path: string): boolean; handle(exchange: Exchange): Promise<void> };

type WebSessionsOptions = {
  auth: Auth;
  members: Members;
  graphql: Graphql;
  admission: Admission;
  arrivals: Arrivals;
  clientAddress: (request: Exchange["request"]) => string;
  publicUrl: string | undefined;
};

const PATH = "/auth/session";
const REFRESH_PATH = `${PATH}/refresh`;

/** What a request that is not refused is answered with; `cookie` as Set-Cookie. */
type Done = { body: object; cookie: string };
/** The page's own cookie, and what is in it. */
type Asked = { exchange: Exchange; cookie: Cookie; refreshToken: string | undefined };

export function createWebSessions(options: WebSessionsOptions): WebSessions {
  const { auth, members, graphql, admission, arrivals, clientAddress } = options;
  const ownPage = ownPages(options.publicUrl);

  const readFields = async ({ request }: Exchange): Promise<Fields> => {
    checkContentType(request.headers, JSON_BODY);
    const { text, release } = await readBody(request, arrivals, () => undefined);
    release?.();
    return new Fields(parseJsonBody(text));
  };

  const openFor = async (fields: Fields, { request }: Exchange, from: LoginFrom): Promise<SignedIn> => {
    if (fields.has("setupToken")) {
      const [token, organization, name] = fields.texts("setupToken", "organization", "name");
      const [email, password] = fields.texts("email", "password");
      return setUpAndSignIn(auth, { token, organization, name, email, password }, from);
    }
    if (fields.has("invitationToken")) {
      const [token] = fields.texts("invitationToken");
      const [name, email, password] = fields.optional("name", "email", "password");
      const caller = await admission.identify(request.socket, request.headers.authorization, () => from.address);
      return acceptInvitation(members, caller, { token, name, email, password }, from);
    }
    const [email, password] = fields.texts("email", "password");
    return login(auth, { email, password }, from);
  };

  const fromOf = ({ request }: Exchange): LoginFrom => ({
    address: clientAddress(request),
    userAgent: userAgentOf(request),
    client: "ui",
  });

  const signIn = async ({ exchange, cookie, refreshToken }: Asked): Promise<Done> => {
    const fields = await readFields(exchange);
    const from = fromOf(exchange);
    const opened = await openFor(fields, exchange, from);
    // The browser forgets its cookie now, so nobody else would end that session.
    if (refreshToken !== undefined)
      await endSession(auth, refreshToken, from).catch((error: unknown) =>
        auth.log.warn({ reason: messageOf(error) }, "the session that a sign-in replaced was not ended"),
      );
    return signedIn(opened, cookie);
  };

  const refresh = async ({ exchange, cookie, refreshToken }: Asked): Promise<Done> => {
    const [organization] = (await readFields(exchange)).optional("organizationId");
    if (refreshToken === undefined) throw new Refusal("UNAUTHENTICATED", "nobody is signed in here: sign in first");
    const organizationId = organization === undefined ? undefined : decodeId("organization", organization);
    if (organization !== undefined && !organizationId) throw notFound("Organization");
    const { address, userAgent } = fromOf(exchange);
    return signedIn(await refreshSession(auth, { refreshToken, address, userAgent, organizationId }), cookie);
  };

  const signOut = async ({ exchange, cookie, refreshToken }: Asked): Promise<Done> => {
    if (refreshToken !== undefined) await endSession(auth, refreshToken, fromOf(exchange));
    return { body: {}, cookie: cookie.gone() };
  };

  const acts = new Map([
    [`POST ${PATH}`, signIn],
    [`DELETE ${PATH}`, signOut],
    [`POST ${REFRESH_PATH}`, refresh],
  ]);

  const answer = async (exchange: Exchange): Promise<Done> => {
    const { request, path } = exchange;
    const act = acts.get(`${request.method} ${path}`);
    if (!act) throw new Misfit(405, "there is no such method here", { allow: path === PATH ? "POST, DELETE" : "POST" });
    const scheme = ownPage(request);
    if (!scheme)
      throw new Refusal(
        "FORBIDDEN",
        "only a page of this server may ask for this: Origin must be that of PUBLIC_URL, or a loopback name with the port that is asked",
      );
    const cookie = new Cookie(scheme === "https:");
    return act({ exchange, cookie, refreshToken: cookie.valueIn(request.headers.cookie) });
  };

  return {
    isFor: (path) => path === PATH || path === REFRESH_PATH,
    handle: async (exchange) => {
      try {
        const { body, cookie } = await answer(exchange);
        sendJson(exchange, 200, body, { "set-cookie": cookie });
      } catch (error) {
        await sendRefusal(graphql, exchange, error, STATUSES);
      }
    },
  };
}

/** As GraphQL has them, and what its answers say within a 200. */
const STATUSES: Partial<Record<Code, number>> = { ...STATUS, FORBIDDEN: 403, NOT_FOUND: 404, CONFLICT: 409 };

const signedIn = ({ accessToken, expiresAt, refreshToken }: SignedIn, cookie: Cookie): Done => ({
  body: { accessToken, expiresAt: expiresAt.toISOString() },
  cookie: cookie.holding(refreshToken),
});

/**
 * Over https no other host, path or scheme can set it (`__Host-`). Browsers keep no such cookie for plain http, which is there
 * for loopback and for networks whose operator says so in `PUBLIC_URL`.
 */
class Cookie {
  readonly #secure: boolean;
  readonly #name: string;

  constructor(secure: boolean) {
    this.#secure = secure;
    this.#name = secure ? "__Host-autograph_session" : "autograph_session";
  }

  valueIn(header: string | undefined): string | undefined {
    return header === undefined ? undefined : parse(header, this.#name)[this.#name];
  }

  holding(refreshToken: string): string {
    return this.#written(refreshToken, LIMITS.refreshTokenDays * 86_400);
  }

  gone(): string {
    return this.#written("", 0);
  }

  #written(value: string, maxAge: number): string {
    const options = { path: "/", httpOnly: true, sameSite: "Strict", secure: this.#secure, maxAge } as const;
    return serialize(this.#name, value, options);
  }
}

/** The members of a body: texts. Problems have their paths as the mutations of the same names do. */
class Fields {
  readonly #values: JsonObject;

  constructor(value: unknown) {
    if (!isObject(value)) throw new Refusal("BAD_REQUEST", "the request body must be a JSON object");
    this.#values = value;
  }

  has(name: string): boolean {
    return this.optional(name)[0] !== undefined;
  }

  /** Throws BAD_USER_INPUT when one is missing. */
  texts<const Names extends readonly string[]>(...names: Names): { [Index in keyof Names]: string } {
    const missing = names.filter((name) => !this.has(name));
    if (missing.length > 0)
      throw badInput(
        "invalid_input",
        missing.map((name) => `${name} is missing`).join("; "),
        missing.map((name) => ({ path: `input.${name}`, code: "required", message: "is missing" })),
      );
    return this.optional(...names) as { [Index in keyof Names]: string };
  }

  /** Null is as good as none. Throws BAD_USER_INPUT when one is no text. */
  optional<const Names extends readonly string[]>(...names: Names): { [Index in keyof Names]: string | undefined } {
    return names.map((name) => {
      const value = Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
      if (value == null || typeof value === "string") return value ?? undefined;
      throw badInput("invalid_input", `${name} must be a string`, [
        { path: `input.${name}`, code: "wrong_type", message: "must be a string" },
      ]);
    }) as { [Index in keyof Names]: string | undefined };
  }
}
