/** How each sender signs what it sends (docs/triggers.md, "Signatures"): always an HMAC-SHA256. */
import type { IncomingHttpHeaders } from "node:http";
import type { JsonObject } from "../../../lib/json/json.ts";
import { Unsigned } from "./unsigned.ts";

type Encoding = "hex" | "base64";
export const ENCODINGS: readonly string[] = ["hex", "base64"] satisfies Encoding[];

/** A request's signature. `seconds`, `id`: when it was signed, and its sender's name for it, if they are signed too. */
export type Claim = {
  signed: string;
  signatures: string[];
  encoding: Encoding;
  seconds?: string | undefined;
  id?: { header: string; name: string };
};
/** `url`: as its sender calls it. */
export type Sent = { headers: IncomingHttpHeaders; body: string; url: string };
/** A policy's settings for the preset `header`. */
type OwnHeader = { header?: string; encoding?: Encoding };

export type Preset = {
  /** Undefined: there is no signature, or none of this kind. */
  claimOf: (sent: Sent, own: OwnHeader) => Claim | undefined;
  /** The headers that have the signature. */
  headers: readonly string[];
  /** The bytes of a secret, if they are not those of its text. Throws Unsigned. */
  keyOf?: (secret: string) => Buffer;
  /** The body's key with the delivery's id, which is the same for each try. */
  idKey?: string;
  /** The answer to a signed question that starts nothing. */
  challenge?: (payload: JsonObject) => JsonObject | undefined;
  /** Whether a request without a signature only asks if the URL is there: it is answered with 200 and starts nothing. */
  isPing?: (sent: Sent) => boolean;
  /** The sender wants 200 without a body for what is signed, and 401 for what is not. */
  isBare?: boolean;
};

const text = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === "string" && value !== "" ? value : undefined;
};

/** A header that has the signature of the body, or of what `signedOf` makes of the request. */
const inHeader = (
  header: string,
  encoding: Encoding,
  signedOf: (sent: Sent) => string = ({ body }) => body,
): Pick<Preset, "claimOf" | "headers"> => ({
  headers: [header],
  claimOf(sent) {
    const signature = text(sent.headers, header);
    return signature === undefined ? undefined : { signed: signedOf(sent), signatures: [signature], encoding };
  },
});

/** A text that is not base64 leaves hardly any bytes, and anybody could sign with those. */
const LEAST_KEY_BYTES = 16;
const STANDARD_PARTS = ["id", "timestamp", "signature"];
/** Svix, the origin of the standard, still uses its own names, and its library looks for them first. */
const STANDARD_PREFIXES = ["svix-", "webhook-"];

/** https://www.standardwebhooks.com and https://docs.svix.com/receiving/verifying-payloads/how-manual */
const standard: Preset = {
  headers: STANDARD_PREFIXES.flatMap((prefix) => STANDARD_PARTS.map((part) => prefix + part)),
  claimOf({ headers, body }) {
    for (const prefix of STANDARD_PREFIXES) {
      const [id, seconds, list] = STANDARD_PARTS.map((part) => text(headers, prefix + part));
      if (id === undefined || seconds === undefined || list === undefined) continue;
      const signatures = list.split(" ").flatMap((one) => (one.startsWith("v1,") ? [one.slice(3)] : []));
      return {
        signed: `${id}.${seconds}.${body}`,
        signatures,
        encoding: "base64",
        seconds,
        id: { header: `${prefix}id`, name: id },
      };
    }
    return undefined;
  },
  keyOf: (secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    if (key.length >= LEAST_KEY_BYTES) return key;
    throw new Unsigned(
      `the secret is not a valid key: it must be \`whsec_\` followed by at least ${LEAST_KEY_BYTES} bytes in base64`,
    );
  },
};

export const PRESETS = {
  standard,
  svix: standard,
  github: {
    headers: ["x-hub-signature-256"],
    claimOf({ headers, body }) {
      const signature = text(headers, "x-hub-signature-256");
      return signature?.startsWith("sha256=")
        ? { signed: body, signatures: [signature.slice(7)], encoding: "hex" }
        : undefined;
    },
  },
  stripe: {
    headers: ["stripe-signature"],
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
    headers: ["x-slack-signature", "x-slack-request-timestamp"],
    claimOf({ headers, body }) {
      const [seconds, signature] = [text(headers, "x-slack-request-timestamp"), text(headers, "x-slack-signature")];
      if (seconds === undefined || !signature?.startsWith("v0=")) return undefined;
      return { signed: `v0:${seconds}:${body}`, signatures: [signature.slice(3)], encoding: "hex", seconds };
    },
    challenge: ({ type, challenge }) =>
      type === "url_verification" && typeof challenge === "string" ? { challenge } : undefined,
    idKey: "event_id",
  },
  /** https://shopify.dev/docs/apps/build/webhooks/verify-deliveries */
  shopify: inHeader("x-shopify-hmac-sha256", "base64"),
  /** `WC_Webhook::generate_signature`. `deliver_ping` takes nothing but 200 for an answer, and is not signed. */
  woocommerce: {
    ...inHeader("x-wc-webhook-signature", "base64"),
    isPing: ({ headers, body }) =>
      headers["x-wc-webhook-signature"] === undefined && /^webhook_id=\d{1,20}$/.test(body),
  },
  /** https://developer.squareup.com/docs/webhooks/step3validate: the URL goes before the body. */
  square: { ...inHeader("x-square-hmacsha256-signature", "base64", ({ url, body }) => url + body), idKey: "event_id" },
  /** https://developer.xero.com/documentation/webhooks/configuring-your-server; its "intent to receive" has no events. */
  xero: {
    ...inHeader("x-xero-signature", "base64"),
    challenge: ({ events }) => (Array.isArray(events) && events.length === 0 ? {} : undefined),
    isBare: true,
  },
  /** In a header that the policy names, with or without `sha256=` before it. */
  header: {
    headers: [],
    claimOf({ headers, body }, { header = "", encoding = "hex" }) {
      const signature = text(headers, header);
      return signature === undefined
        ? undefined
        : { signed: body, signatures: [signature.replace(/^sha256=/, "")], encoding };
    },
  },
} as const satisfies Record<string, Preset>;

export type Signature = { preset: keyof typeof PRESETS; secret: string } & OwnHeader;
