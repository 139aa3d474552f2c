/**
 * `/auth/session`: how a page of this server signs in. The refresh token is in a cookie that no script can read and that
 * nothing but this file looks at; the page gets access tokens, and sends them like any other client (docs/api.md).
 */
import type { Auth } from "../../auth/handle/auth.ts";
import { login, type LoginFrom } from "../../auth/sessions/login.ts";
import { endSession } from "../../auth/sessions/logout.ts";
import { refreshSession } from "../../auth/sessions/refresh-session.ts";
import type { SignedIn } from "../../auth/sessions/session.ts";
import { setUpAndSignIn } from "../../auth/accounts/setup.ts";
import { badInput, messageOf, notFound, Refusal } from "../../lib/errors.ts";
import { decodeId } from "../../lib/ids.ts";
import { isObject, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { acceptInvitation } from "../../members/accept-invitation.ts";
import type { Members } from "../../members/members.ts";
import { ownPages } from "../addresses.ts";
import type { Admission } from "../admission/admission.ts";
import type { Exchange, Reply } from "../write-response.ts";
import type { Arrivals } from "../connections/arrivals.ts";
import { readBody } from "../connections/read-body.ts";
import { checkContentType, JSON_BODY, parseJsonBody } from "../body-format.ts";
import { userAgentOf } from "../request.ts";

type SessionOptions = {
  auth: Auth;
  members: Members;
  admission: Admission;
  arrivals: Arrivals;
  clientAddress: (request: Exchange["request"]) => string;
};

/** The page's own cookie, and the token in it. */
type OwnPage = { cookie: Cookie; refreshToken: string | undefined };

/** Admits a page of this server, no matter who is signed in there. Throws FORBIDDEN for any other. */
export function admitOwnPages(publicUrl: string | undefined): (exchange: Exchange) => OwnPage {
  const schemeOf = ownPages(publicUrl);
  return ({ request }) => {
    const scheme = schemeOf(request);
    if (!scheme)
      throw new Refusal(
        "FORBIDDEN",
        "only a page of this server may do this: Origin must be that of PUBLIC_URL, or a loopback name with the port of the request",
      );
    const cookie = new Cookie(scheme === "https:");
    return { cookie, refreshToken: cookie.valueIn(request.headers.cookie) };
  };
}

export async function signIn(options: SessionOptions, exchange: Exchange, page: OwnPage): Promise<Reply> {
  const { auth } = options;
  const fields = await readFields(options, exchange);
  const from = fromOf(options, exchange);
  const opened = await openSession(options, exchange, fields, from);
  // The browser forgets its cookie now, so nobody else would end that session.
  if (page.refreshToken !== undefined)
    await endSession(auth, page.refreshToken, from).catch((error: unknown) =>
      auth.log.warn({ reason: messageOf(error) }, "the session that a sign-in replaced could not be ended"),
    );
  return signedIn(opened, page.cookie);
}

export async function refresh(options: SessionOptions, exchange: Exchange, page: OwnPage): Promise<Reply> {
  const { refreshToken } = page;
  const [organization] = (await readFields(options, exchange)).optional("organizationId");
  if (refreshToken === undefined) throw new Refusal("UNAUTHENTICATED", "nobody is signed in here: sign in first");
  const organizationId = organization === undefined ? undefined : decodeId("organization", organization);
  if (organization !== undefined && !organizationId) throw notFound("Organization");
  const { address, userAgent } = fromOf(options, exchange);
  const opened = await refreshSession(options.auth, { refreshToken, address, userAgent, organizationId });
  return signedIn(opened, page.cookie);
}

export async function signOut(options: SessionOptions, exchange: Exchange, page: OwnPage): Promise<Reply> {
  if (page.refreshToken !== undefined) await endSession(options.auth, page.refreshToken, fromOf(options, exchange));
  return { status: 200, body: {}, headers: { "set-cookie": page.cookie.gone() } };
}

async function readFields({ arrivals }: SessionOptions, { request }: Exchange): Promise<Fields> {
  checkContentType(request.headers, JSON_BODY);
  const { text, release } = await readBody(request, arrivals, () => undefined);
  release?.();
  return new Fields(parseJsonBody(text));
}

/** By a setup token, an invitation's token, or e-mail and password. */
async function openSession(
  { auth, members, admission }: SessionOptions,
  { request }: Exchange,
  fields: Fields,
  from: LoginFrom,
): Promise<SignedIn> {
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
}

const fromOf = ({ clientAddress }: SessionOptions, { request }: Exchange): LoginFrom => ({
  address: clientAddress(request),
  userAgent: userAgentOf(request),
  client: "ui",
});

const signedIn = ({ accessToken, expiresAt, refreshToken }: SignedIn, cookie: Cookie): Reply => ({
  status: 200,
  body: { accessToken, expiresAt: expiresAt.toISOString() },
  headers: { "set-cookie": cookie.holding(refreshToken) },
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

  /**
   * `header`: a request's. Only spaces and tabs may stand before a name: with other characters before it, such as a non-breaking space, a browser
   * takes it for a name without the prefix, which another host of the domain may set.
   */
  valueIn(header = ""): string | undefined {
    const pairs = header.split(/;[ \t]*/);
    return pairs.find((pair) => pair.startsWith(`${this.#name}=`))?.slice(this.#name.length + 1);
  }

  holding(refreshToken: string): string {
    return this.#written(refreshToken, LIMITS.refreshTokenDays * 86_400);
  }

  gone(): string {
    return this.#written("", 0);
  }

  #written(value: string, maxAgeSeconds: number): string {
    const secure = this.#secure ? "; Secure" : "";
    return `${this.#name}=${value}; Max-Age=${maxAgeSeconds}; Path=/; HttpOnly${secure}; SameSite=Strict`;
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
