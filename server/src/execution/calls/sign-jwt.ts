/** JWTs by which a client shows who it is, and what it may ask for (RFC 7523). Signed in another thread, good for a minute. */
import { createPrivateKey, type KeyObject } from "node:crypto";
import { SignJWT } from "jose";
import type { JsonObject } from "../../lib/json/json.ts";
import { objectIn } from "../../secrets/secret-fields.ts";
import { unusable } from "./authorize.ts";

const GOOD_SECONDS = 60;
/** A signature by a larger key takes a tenth of a second of a thread. */
const MAX_RSA_BITS = 4_096;

export const isJwt = (text: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text);

/** `key`: a private key as PEM or JWK. `now`: ms. `name`: of the field that has the key. Throws an `authentication` error. */
export async function signedBy(key: string, claims: JsonObject, now: number, name: string): Promise<string> {
  const { privateKey, alg, kid } = keyIn(key, name);
  return signed(privateKey, { alg, ...(kid !== undefined && { kid }) }, claims, now).catch(() => {
    throw unusable(`${name} is a key that cannot sign by ${alg}`);
  });
}

/** By HS256 with a client's secret. Throws an `authentication` error. */
export const signedWith = (secret: string, claims: JsonObject, now: number): Promise<string> =>
  signed(new TextEncoder().encode(secret), { alg: "HS256" }, claims, now).catch(() => {
    throw unusable("client.secret cannot sign by HS256");
  });

function signed(
  key: KeyObject | Uint8Array,
  header: { alg: string; kid?: string },
  claims: JsonObject,
  now: number,
): Promise<string> {
  const seconds = Math.floor(now / 1_000);
  return new SignJWT({ ...claims, iat: seconds, exp: seconds + GOOD_SECONDS })
    .setProtectedHeader({ ...header, typ: "JWT" })
    .sign(key);
}

const CURVES = new Map([
  ["prime256v1", "ES256"],
  ["secp384r1", "ES384"],
  ["secp521r1", "ES512"],
]);

function keyIn(text: string, name: string): { privateKey: KeyObject; alg: string; kid?: string } {
  const jwk = objectIn(text);
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey(jwk ? { key: jwk, format: "jwk" } : text);
  } catch {
    // Its own sentence may repeat a part of the key.
    throw unusable(`${name} is neither a JWT nor a private key as PEM or JWK`);
  }
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = privateKey;
  if ((details?.modulusLength ?? 0) > MAX_RSA_BITS)
    throw unusable(`${name} is a key of more than ${MAX_RSA_BITS} bits`);
  const usual =
    type === "ec"
      ? CURVES.get(details?.namedCurve ?? "")
      : new Map([
          ["rsa", "RS256"],
          ["rsa-pss", "PS256"],
          ["ed25519", "EdDSA"],
        ]).get(type ?? "");
  const alg = typeof jwk?.["alg"] === "string" ? jwk["alg"] : usual;
  if (alg === undefined || !ALGORITHMS.test(alg)) throw unusable(`${name} is a key of a kind that is not supported`);
  return { privateKey, alg, ...(typeof jwk?.["kid"] === "string" && { kid: jwk["kid"] }) };
}

const ALGORITHMS = /^(?:RS256|RS384|RS512|PS256|PS384|PS512|ES256|ES384|ES512|EdDSA)$/;
