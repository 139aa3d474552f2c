/**
 * Why a credential was refused, from its looks alone: the sentence says what was sent by mistake, and nothing about what
 * exists here.
 */
import { Refusal } from "../lib/errors.ts";
import { API_KEY_PREFIX } from "./api-key.ts";
import type { Credential } from "./caller.ts";
import { REFRESH_TOKEN_PREFIX } from "./refresh-token.ts";

/** Three parts of base64url, the first of which begins with `{"`. */
const ACCESS_TOKEN = /^eyJ[\w-]*\.[\w-]*\.[\w-]*$/;

type Look = "API key" | "refresh token" | "access token" | "key's id" | "something else";

function lookOf(text: string): Look {
  if (text.startsWith(API_KEY_PREFIX)) return "API key";
  if (text.startsWith(REFRESH_TOKEN_PREFIX)) return "refresh token";
  if (text.startsWith("key_")) return "key's id";
  return ACCESS_TOKEN.test(text) ? "access token" : "something else";
}

const AS_BEARER: Record<Look, string> = {
  "API key": "this API key is unknown, revoked or expired",
  "refresh token":
    "this is a refresh token: send the access token that came with it, or get a new one with refreshToken",
  "access token": "the access token is not valid or has expired: get a new one with refreshToken or login",
  "key's id": `this is the id of an API key, not the key itself, which begins with ${API_KEY_PREFIX}`,
  "something else": `this is neither an API key (${API_KEY_PREFIX}…) nor an access token (eyJ…)`,
};

/** In the Authorization header. */
export const badBearer = (token: string): string => AS_BEARER[lookOf(token)];

/** The credential of an open connection that has expired or was revoked. */
export const lapsed = ({ kind }: Credential): Refusal =>
  new Refusal("UNAUTHENTICATED", AS_BEARER[kind === "key" ? "API key" : "access token"]);

const AS_REFRESH_TOKEN: Record<Look, string> = {
  "API key": "this is an API key, which works until it is revoked or expires: send it instead of an access token",
  "refresh token": "the refresh token is not valid or has expired: sign in again",
  "access token": "this is an access token: send the refresh token that came with it",
  "key's id": `this is the id of an API key, not a refresh token, which begins with ${REFRESH_TOKEN_PREFIX}`,
  "something else": `this is not a refresh token, which begins with ${REFRESH_TOKEN_PREFIX}: get one from login`,
};

/** As the argument of `refreshToken`. */
export const badRefreshToken = (token: string): string => AS_REFRESH_TOKEN[lookOf(token)];
