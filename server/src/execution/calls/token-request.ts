/** The request for a token that an `oauth2` policy means (DSL reference "OAUTH2 Authentication"). */
import { authorityProblem, TOKEN_PATH, tokenPathProblem, tokenUrl } from "../../definition/rules/token-endpoint.ts";
import { HALF_OF_A_PAIR } from "../../definition/tasks/http-body.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { FORM_TYPE } from "../../lib/media-type.ts";
import { credential, unusable } from "./authorize.ts";

export type TokenRequest = { url: string; headers: Record<string, string>; body: string };

const JSON_TYPE = "application/json";

/** The policy may come from a secret and be unchecked. Throws an `authentication` error. */
export function tokenRequest(policy: JsonObject): TokenRequest {
  const client = isObject(policy["client"]) ? policy["client"] : {};
  const [id, secret] = [credential(client, "id"), credential(client, "secret")];
  if (id === "" || secret === "") throw unusable("client has an empty id or secret");
  const how = oneOf(client["authentication"], ["client_secret_post", "client_secret_basic"], "client.authentication");
  oneOf(policy["grant"], ["client_credentials"], "grant");
  const request = isObject(policy["request"]) ? policy["request"] : {};
  const type = oneOf(request["encoding"], [FORM_TYPE, JSON_TYPE], "request.encoding");
  const [scope, audience] = [wordsOf(policy, "scopes"), wordsOf(policy, "audiences")];
  const fields = {
    grant_type: "client_credentials",
    ...(how === "client_secret_post" && { client_id: id, client_secret: secret }),
    ...(scope && { scope }),
    ...(audience && { audience }),
  };
  return {
    url: urlOf(policy),
    headers: {
      "content-type": type,
      ...(how === "client_secret_basic" && { authorization: basicOf(id, secret) }),
    },
    body: type === FORM_TYPE ? new URLSearchParams(fields).toString() : JSON.stringify(fields),
  };
}

function urlOf(policy: JsonObject): string {
  const authority = bounded(credential(policy, "authority"), LIMITS.authorityCharacters, "authority");
  const endpoints = isObject(policy["endpoints"]) ? policy["endpoints"] : {};
  const token = endpoints["token"] === undefined ? TOKEN_PATH : credential(endpoints, "token");
  const path = bounded(token, LIMITS.tokenPathCharacters, "endpoints.token");
  if (authorityProblem(authority)) throw unusable("authority is not a URL without user, query and fragment");
  if (tokenPathProblem(path)) throw unusable("endpoints.token is not a path");
  return tokenUrl(authority, path);
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

/** The first one if nothing is said. */
function oneOf(value: Json | undefined, known: readonly string[], name: string): string {
  if (value === undefined) return known[0]!;
  if (known.includes(value as string)) return value as string;
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
