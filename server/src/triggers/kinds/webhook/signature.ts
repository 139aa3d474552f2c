/**
 * Signatures of what is sent to a webhook, beside the token in its URL: an HMAC-SHA256 over the body as it came, under a secret of the
 * agent's project. Each preset is a sender's own way (docs/triggers.md); where it signs a time, that is within five minutes.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { enumerate } from "../../../definition/text/problem.ts";
import type { Refusal } from "../../../lib/errors.ts";
import { isObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { isSecretName } from "../../../lib/secret-name.ts";
import { LIMITS } from "../../../lib/limits.ts";
import { checkedName, isDeliveryName } from "./delivery-name.ts";
import { isHeaderName } from "./header-name.ts";
import { ENCODINGS, PRESETS, type Claim, type Preset, type Sent, type Signature } from "./signature-presets.ts";
import { NotSigned, Unsigned } from "./unsigned.ts";
import type { Key, Problems } from "../contract/trigger-kind.ts";

const NAMES = Object.keys(PRESETS);

export const SIGNATURE_KEY: Key = {
  api: "JSON",
  description:
    "`{preset, secret}`: each request must be signed, in addition to the token in the URL. `preset` is `standard` (Standard Webhooks; `svix` is the same), `github`, `stripe`, `slack`, `shopify`, `woocommerce`, `square`, `xero`, or `header` with the name of a `header` that has an HMAC-SHA256 of the body, in the `encoding` `hex` (the default) or `base64`. `secret` is the name of a secret of the project.",
};

/** The signature policy as it is stored. */
export function settleSignature({ signature }: JsonObject, problems: Problems): JsonObject {
  if (signature === undefined) return {};
  if (!isObject(signature)) {
    problems.add("signature", "wrong_type", "must be an object of preset and secret");
    return {};
  }
  const { preset, secret, header, encoding, ...others } = signature;
  if (typeof preset !== "string" || !NAMES.includes(preset))
    problems.add("signature.preset", "not_a_choice", `must be ${enumerate(NAMES, "or")}`);
  if (typeof secret !== "string" || !isSecretName(secret))
    problems.add("signature.secret", "invalid", "must be the name of a secret of the project");
  if (preset === "header" && !isHeaderName(header))
    problems.add("signature.header", "required", "must be the name of the header that has the signature");
  for (const [key, value] of Object.entries({ header, encoding }))
    if (preset !== "header" && value !== undefined)
      problems.add(`signature.${key}`, "unknown", "is only allowed with the preset `header`: leave it out");
  if (preset === "header" && encoding !== undefined && !ENCODINGS.includes(encoding as string))
    problems.add("signature.encoding", "not_a_choice", `must be ${enumerate(ENCODINGS, "or")}`);
  for (const key of Object.keys(others))
    problems.add(`signature.${key}`, "unknown", "is not known: it takes preset, secret, header, encoding");
  return {
    signature: {
      preset: preset!,
      secret: secret!,
      ...(header !== undefined && { header: String(header).toLowerCase() }),
      ...(encoding !== undefined && { encoding }),
    },
  };
}

/** The policy's signature. */
export const signatureOf = (policy: JsonObject): Signature | undefined => policy["signature"] as Signature | undefined;
const presetOf = (policy: JsonObject): Preset | undefined => {
  const signature = signatureOf(policy);
  return signature && PRESETS[signature.preset];
};

export const isSigned = (policy: JsonObject): boolean => signatureOf(policy) !== undefined;

/** The answer to a sender's question, once its signature is good; undefined if it is none. */
export const challengeOf = (policy: JsonObject, payload: Json): JsonObject | undefined =>
  isObject(payload) ? presetOf(policy)?.challenge?.(payload) : undefined;

/** The headers that a signature is in: a secret's trace, so nobody is shown them. */
export function signatureHeaders(policy: JsonObject): readonly string[] {
  const own = signatureOf(policy)?.header;
  return [...(presetOf(policy)?.headers ?? []), ...(own === undefined ? [] : [own])];
}

/** Whether requests without a signature may ask for an answer. */
export const pings = (policy: JsonObject): boolean => presetOf(policy)?.isPing !== undefined;

/** Whether a request that has no signature only asks if the URL is there. */
export const isPing = (policy: JsonObject, sent: Sent): boolean => presetOf(policy)?.isPing?.(sent) ?? false;

/** Whether the sender wants an answer without a body. */
export const isBare = (policy: JsonObject): boolean => presetOf(policy)?.isBare ?? false;

/** A request whose signature is good. `id`: as in a claim. */
export type Signed = Pick<Claim, "signed" | "id">;

/** `read`: the secret's value. Throws FORBIDDEN, for the trigger's owner to read, when the request is not signed as the policy says. */
export async function checkSignature(
  policy: JsonObject,
  sent: Sent,
  now: number,
  read: (secret: string) => Promise<string | undefined>,
): Promise<Signed | undefined> {
  const signature = signatureOf(policy);
  if (!signature) return undefined;
  const { claimOf, keyOf = Buffer.from }: Preset = PRESETS[signature.preset];
  const claim = claimOf(sent, signature);
  if (!claim) throw new Unsigned(`the request has no ${signature.preset} signature`);
  const seconds = claim.seconds === undefined ? undefined : Number(claim.seconds);
  if (seconds !== undefined && !(Math.abs(seconds * 1_000 - now) <= LIMITS.signatureSeconds * 1_000))
    throw new Unsigned(`it was signed more than ${LIMITS.signatureSeconds} s before or after now`);
  const secret = await read(signature.secret);
  if (secret === undefined) throw new Unsigned(`the project has no secret ${signature.secret}`);
  const wanted = createHmac("sha256", keyOf(secret)).update(claim.signed).digest();
  // All of them, so that the time tells nothing.
  const fits = claim.signatures.slice(0, MAX_SIGNATURES).map((one) => isSame(Buffer.from(one, claim.encoding), wanted));
  if (!fits.includes(true)) throw new Unsigned("the signature does not fit the body and the secret");
  return claim;
}

/** A sender that changes its secret sends one of each for a while. */
const MAX_SIGNATURES = 10;

const isSame = (given: Buffer, wanted: Buffer): boolean =>
  given.length === wanted.length && timingSafeEqual(given, wanted);

/** The sentence for the caller. */
export const notSigned = (policy: JsonObject): Refusal => new NotSigned(isBare(policy) ? 401 : 403);

/**
 * The name of a signed delivery. A sender who knows no secret can change nothing in it: otherwise a recorded request could be
 * sent again. `bodyHash` is that of the name where the sender may write the same delivery in other words.
 */
export function signedDelivery(policy: JsonObject, { signed, id }: Signed, payload: JsonObject, bodyHash: string) {
  if (id !== undefined) return { name: checkedName(id.header, id.name), bodyHash };
  const { idKey } = presetOf(policy)!;
  const named = idKey === undefined ? undefined : payload[idKey];
  const name = isDeliveryName(named) ? named : `sha256:${hashOf(signed)}`;
  return { name, bodyHash: hashOf(name) };
}

const hashOf = (value: string): string => createHash("sha256").update(value).digest("hex");
