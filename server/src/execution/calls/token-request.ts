/** The token that an `oauth2` or `oidc` policy means (DSL reference "OAUTH2 Authentication"), and the request for it. */
import { randomUUID } from "node:crypto";
import {
  authorityProblem,
  GRANTS,
  JWT_BEARER,
  TOKEN_EXCHANGE,
  TOKEN_PATH,
  tokenPathProblem,
  tokenUrl,
} from "../../definition/rules/token-endpoint.ts";
import { HALF_OF_A_PAIR } from "../../definition/tasks/http-body.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { FORM_TYPE } from "../../lib/media-type.ts";
import { credential, unusable } from "./authorize.ts";
import { isJwt, signedBy, signedWith } from "./sign-jwt.ts";

const JSON_TYPE = "application/json";
const METHODS = ["client_secret_post", "client_secret_basic", "client_secret_jwt", "private_key_jwt", "none"] as const;

type Client = { id: string; method: (typeof METHODS)[number]; secret: string; assertion: string };

/** A token, by all that it depends on. */
export type TokenPlan = {
  /** Where it is requested; `authority`: where OpenID Connect's discovery says so. */
  at: { url: string } | { authority: string };
  client: Client;
  type: string;
  /** The request's fields besides the client's. */
  fields: Record<string, string>;
  /** For the grant `refresh_token`: the first one, which the authority may have replaced. */
  refreshToken?: string;
  /** For the grant of RFC 7523: a JWT, or the private key that signs one. */
  assertion?: string;
};

export type TokenRequest = { url: string; headers: Record<string, string>; body: string };

/** The policy may come from a secret and be unchecked. Throws an `authentication` error. */
export function tokenPlan(scheme: "oauth2" | "oidc", policy: JsonObject): TokenPlan {
  const client = clientOf(policy);
  const grant = oneOf(policy["grant"], [...GRANTS, JWT_BEARER], "grant");
  const request = isObject(policy["request"]) ? policy["request"] : {};
  const type = oneOf(request["encoding"], [FORM_TYPE, JSON_TYPE], "request.encoding");
  const [scope, audience] = [wordsOf(policy, "scopes"), wordsOf(policy, "audiences")];
  const subject = ["refresh_token", TOKEN_EXCHANGE, JWT_BEARER].includes(grant)
    ? tokenOf(policy, "subject")
    : undefined;
  const actor = grant === TOKEN_EXCHANGE && policy["actor"] !== undefined ? tokenOf(policy, "actor") : undefined;
  const exchanged = grant === TOKEN_EXCHANGE ? subject : undefined;
  const fields = {
    grant_type: grant,
    ...(grant === "password" && { username: credential(policy, "username"), password: credential(policy, "password") }),
    ...(exchanged && { subject_token: exchanged.token, subject_token_type: exchanged.type }),
    ...(actor && { actor_token: actor.token, actor_token_type: actor.type }),
    ...(scope && { scope }),
    ...(audience && { audience }),
  };
  return {
    at: scheme === "oidc" ? { authority: authorityOf(policy) } : { url: urlOf(policy) },
    client,
    type,
    fields,
    ...(grant === "refresh_token" && { refreshToken: subject!.token }),
    ...(grant === JWT_BEARER && { assertion: subject!.token }),
  };
}

/** `now`: ms. Throws an `authentication` error. */
export async function requestFor(
  { client, type, fields, assertion }: TokenPlan,
  { url, refreshToken, now }: { url: string; refreshToken: string | undefined; now: number },
): Promise<TokenRequest> {
  const claims = { iss: client.id, sub: client.id, aud: url, jti: randomUUID() };
  const all: Record<string, string> = {
    ...fields,
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
    ...(assertion !== undefined && {
      assertion: isJwt(assertion)
        ? assertion
        : await signedBy(
            assertion,
            { ...claims, ...(fields["scope"] && { scope: fields["scope"] }) },
            now,
            "subject.token",
          ),
    }),
    ...(client.method === "client_secret_post" && { client_id: client.id, client_secret: client.secret }),
    ...(client.method === "none" && { client_id: client.id }),
    ...((client.method === "client_secret_jwt" || client.method === "private_key_jwt") && {
      client_id: client.id,
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: await clientAssertion(client, claims, now),
    }),
  };
  const isBasic = client.method === "client_secret_basic";
  return {
    url,
    headers: { "content-type": type, ...(isBasic && { authorization: basicOf(client.id, client.secret) }) },
    body: type === FORM_TYPE ? new URLSearchParams(all).toString() : JSON.stringify(all),
  };
}

function clientAssertion(
  { method, secret, assertion }: Client,
  claims: JsonObject,
  now: number,
): Promise<string> | string {
  if (method === "client_secret_jwt") return signedWith(secret, claims, now);
  return isJwt(assertion) ? assertion : signedBy(assertion, claims, now, "client.assertion");
}

function clientOf(policy: JsonObject): Client {
  const client = isObject(policy["client"]) ? policy["client"] : {};
  const method = oneOf(client["authentication"], METHODS, "client.authentication");
  const id = credential(client, "id");
  const secret = method.startsWith("client_secret") ? credential(client, "secret") : "";
  const assertion = method === "private_key_jwt" ? credential(client, "assertion") : "";
  if (id === "" || (secret === "" && method.startsWith("client_secret")))
    throw unusable("client has an empty id or secret");
  if (assertion === "" && method === "private_key_jwt") throw unusable("client.assertion is empty");
  return { id, method, secret, assertion };
}

function tokenOf(policy: JsonObject, name: "subject" | "actor"): { token: string; type: string } {
  const given = isObject(policy[name]) ? policy[name] : {};
  const [token, type] = [credential(given, "token"), credential(given, "type")];
  if (token === "" || type === "") throw unusable(`${name} has an empty token or type`);
  return { token, type };
}

function urlOf(policy: JsonObject): string {
  const authority = authorityOf(policy);
  const endpoints = isObject(policy["endpoints"]) ? policy["endpoints"] : {};
  const token = endpoints["token"] === undefined ? TOKEN_PATH : credential(endpoints, "token");
  const path = bounded(token, LIMITS.tokenPathCharacters, "endpoints.token");
  if (tokenPathProblem(path)) throw unusable("endpoints.token is not a path");
  return tokenUrl(authority, path);
}

function authorityOf(policy: JsonObject): string {
  const authority = bounded(credential(policy, "authority"), LIMITS.authorityCharacters, "authority");
  if (authorityProblem(authority)) throw unusable("authority is not a URL without user, query and fragment");
  return authority;
}

function bounded(text: string, characters: number, name: string): string {
  if (text.length > characters) throw unusable(`${name} has more than ${characters} characters`);
  return text;
}

/** RFC 6749, 2.3.1: both are encoded as in a form first. */
function basicOf(id: string, secret: string): string {
  const encoded = [id, secret].map((text) => new URLSearchParams({ a: text }).toString().slice(2)).join(":");
  return `Basic ${Buffer.from(encoded).toString("base64")}`;
}

/** The default is the first one. */
function oneOf<Known extends string>(value: Json | undefined, known: readonly Known[], name: string): Known {
  if (value === undefined) return known[0]!;
  if (known.includes(value as Known)) return value as Known;
  throw unusable(`${name} is not one of ${known.join(", ")}`);
}

function wordsOf(policy: JsonObject, name: string): string {
  const words = policy[name] ?? [];
  if (!Array.isArray(words) || !words.every((word) => typeof word === "string"))
    throw unusable(`${name} is not a list of texts`);
  const text = words.join(" ");
  if (!text.isWellFormed()) throw unusable(`${name} ${HALF_OF_A_PAIR}`);
  return text;
}
