/**
 * Signatures of what is sent to a webhook, beside the token in its URL: an HMAC-SHA256 over the body as it came, under a secret of the
 * agent's project. Each preset is a sender's own way (docs/triggers.md); where it signs a time, that is within five minutes.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { enumerate } from "../../definition/problem.ts";
import { Refusal } from "../../lib/errors.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { isSecretName } from "../../lib/secret-name.ts";
import { LIMITS } from "../../lib/limits.ts";
import { checkedName, isDeliveryName } from "./delivery-name.ts";
import { isHeaderName } from "./header-name.ts";
import type { Key, Problems } from "../trigger-kind.ts";

/** What a request has of it. `seconds`, `id`: when it was signed, and what its sender calls it, if that is signed too. */
type Claim = {
  signed: string;
  signatures: string[];
  encoding: "hex" | "base64";
  seconds?: string | undefined;
  id?: string;
};
type Sent = { headers: IncomingHttpHeaders; body: string };

type Preset = {
  /** Undefined: there is none, or it is none. */
  claimOf: (sent: Sent, header: string) => Claim | undefined;
  /** The bytes of a secret, if they are not those of its text. */
  keyOf?: (secret: string) => Buffer;
  /** The key of the body that names a delivery, in each of its tries. */
  idKey?: string;
  /** What to answer to a question that starts nothing. */
  challenge?: (payload: JsonObject) => JsonObject | undefined;
};

const text = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === "string" && value !== "" ? value : undefined;
};

/** Anybody can sign with what a text leaves that is not base64. */
const LEAST_KEY_BYTES = 16;

const PRESETS = {
  /** https://www.standardwebhooks.com */
  standard: {
    claimOf({ headers, body }) {
      const [id, seconds, list] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
        text(headers, name),
      );
      if (id === undefined || seconds === undefined || list === undefined) return undefined;
      const signatures = list.split(" ").flatMap((one) => (one.startsWith("v1,") ? [one.slice(3)] : []));
      return { signed: `${id}.${seconds}.${body}`, signatures, encoding: "base64", seconds, id };
    },
    keyOf: (secret) => {
      const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
      if (key.length >= LEAST_KEY_BYTES) return key;
      throw new Unsigned(
        `the secret is not a valid key: it must be \`whsec_\` followed by at least ${LEAST_KEY_BYTES} bytes in base64`,
      );
    },
  },
  github: {
    claimOf({ headers, body }) {
      const signature = text(headers, "x-hub-signature-256");
      return signature?.startsWith("sha256=")
        ? { signed: body, signatures: [signature.slice(7)], encoding: "hex" }
        : undefined;
    },
  },
  stripe: {
    claimOf({ headers, body }) {
      const parts = (text(headers, "stripe-signature") ?? "").split(",").map((part) => part.split("=", 2));
      const of = (name: string): string[] => parts.flatMap(([key, value]) => (key === name && value ? [value] : []));
      const [seconds] = of("t");
      return seconds === undefined
        ? undefined
        : { signed: `${seconds}.${body}`, signatures: of("v1"), encoding: "hex", seconds };
    },
    idKey: "id",
  },
  slack: {
    claimOf({ headers, body }) {
      const [seconds, signature] = [text(headers, "x-slack-request-timestamp"), text(headers, "x-slack-signature")];
      if (seconds === undefined || !signature?.startsWith("v0=")) return undefined;
      return { signed: `v0:${seconds}:${body}`, signatures: [signature.slice(3)], encoding: "hex", seconds };
    },
    challenge: ({ type, challenge }) =>
      type === "url_verification" && typeof challenge === "string" ? { challenge } : undefined,
    idKey: "event_id",
  },
  /** Hexadecimal digits in a header of one's own, with or without `sha256=` before them. */
  header: {
    claimOf({ headers, body }, header) {
      const signature = text(headers, header);
      return signature === undefined
        ? undefined
        : { signed: body, signatures: [signature.replace(/^sha256=/, "")], encoding: "hex" };
    },
  },
} as const satisfies Record<string, Preset>;

type Signature = { preset: keyof typeof PRESETS; secret: string; header?: string };
const NAMES = Object.keys(PRESETS);

export const SIGNATURE_KEY: Key = {
  api: "JSON",
  description:
    "`{preset, secret}`: each request must be signed, in addition to the token in the URL. `preset` is `standard` (Standard Webhooks), `github`, `stripe`, `slack`, or `header` with the name of a `header` that has an HMAC-SHA256 of the body in hexadecimal. `secret` is the name of a secret of the project.",
};

/** What is kept of it. */
export function settleSignature({ signature }: JsonObject, problems: Problems): JsonObject {
  if (signature === undefined) return {};
  if (!isObject(signature)) {
    problems.add("signature", "wrong_type", "must be an object of preset and secret");
    return {};
  }
  const { preset, secret, header, ...others } = signature;
  if (typeof preset !== "string" || !NAMES.includes(preset))
    problems.add("signature.preset", "not_a_choice", `must be ${enumerate(NAMES, "or")}`);
  if (typeof secret !== "string" || !isSecretName(secret))
    problems.add("signature.secret", "invalid", "must be the name of a secret of the project");
  if (preset === "header" && !isHeaderName(header))
    problems.add("signature.header", "required", "must be the name of the header that has the signature");
  if (preset !== "header" && header !== undefined)
    problems.add("signature.header", "unknown", "is only allowed with the preset `header`: leave it out");
  for (const key of Object.keys(others))
    problems.add(`signature.${key}`, "unknown", "is not known: it takes preset, secret, header");
  return {
    signature: {
      preset: preset!,
      secret: secret!,
      ...(header !== undefined && { header: String(header).toLowerCase() }),
    },
  };
}

/** What the policy says of it. */
export const signatureOf = (policy: JsonObject): Signature | undefined => policy["signature"] as Signature | undefined;
const presetOf = (policy: JsonObject): Preset | undefined => {
  const signature = signatureOf(policy);
  return signature && PRESETS[signature.preset];
};

export const isSigned = (policy: JsonObject): boolean => signatureOf(policy) !== undefined;

/** What is answered to a sender's question, once its signature is good; undefined if it is none. */
export const challengeOf = (policy: JsonObject, payload: Json): JsonObject | undefined =>
  isObject(payload) ? presetOf(policy)?.challenge?.(payload) : undefined;

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
  const claim = claimOf(sent, signature.header ?? "");
  if (!claim) throw new Unsigned(`the request has no ${signature.preset} signature`);
  const seconds = claim.seconds === undefined ? undefined : Number(claim.seconds);
  if (seconds !== undefined && !(Math.abs(seconds * 1_000 - now) <= LIMITS.signatureSeconds * 1_000))
    throw new Unsigned(`it was signed more than ${LIMITS.signatureSeconds} s before or after now`);
  const secret = await read(signature.secret);
  if (secret === undefined) throw new Unsigned(`the project has no secret ${signature.secret}`);
  const wanted = createHmac("sha256", keyOf(secret)).update(claim.signed).digest();
  // All of them, so that the time tells nothing.
  const fits = claim.signatures
    .slice(0, MOST_SIGNATURES)
    .map((one) => isSame(Buffer.from(one, claim.encoding), wanted));
  if (!fits.includes(true)) throw new Unsigned("the signature does not fit the body and the secret");
  return claim;
}

/** A sender that changes its secret sends one of each for a while. */
const MOST_SIGNATURES = 10;

const isSame = (given: Buffer, wanted: Buffer): boolean =>
  given.length === wanted.length && timingSafeEqual(given, wanted);

const UNSIGNED = "the request is not signed as it must be";

/** Says why, to who sees the trigger's firings. */
export class Unsigned extends Refusal {
  constructor(why: string) {
    super("FORBIDDEN", `${UNSIGNED}: ${why}`);
  }
}

/** What the caller is told, who learns nothing of the project's secrets. */
export const notSigned = (): Refusal => new Refusal("FORBIDDEN", UNSIGNED);

/**
 * What a signed delivery is called: by nothing that a sender who knows no secret can change, or whoever recorded a request could
 * send it again. `bodyHash` is that of the name where the sender may write the same delivery in other words.
 */
export function signedDelivery(policy: JsonObject, { signed, id }: Signed, payload: JsonObject, bodyHash: string) {
  if (id !== undefined) return { name: checkedName("webhook-id", id), bodyHash };
  const { idKey } = presetOf(policy)!;
  const named = idKey === undefined ? undefined : payload[idKey];
  const name = isDeliveryName(named) ? named : `sha256:${hashOf(signed)}`;
  return { name, bodyHash: hashOf(name) };
}

const hashOf = (value: string): string => createHash("sha256").update(value).digest("hex");
