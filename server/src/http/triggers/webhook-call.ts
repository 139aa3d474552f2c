/** Reads a call of a webhook, and checks its address and its signature before anything is counted. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { badInput, Refusal } from "../../lib/errors.ts";
import { readFormFields } from "../../lib/json/form-fields.ts";
import { isObject, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { isForm } from "../../lib/media-type.ts";
import { readValues } from "../../secrets/read-values.ts";
import { refuseCall, type Occasion } from "../../triggers/firings/fire.ts";
import type { Trigger } from "../../triggers/store/trigger.ts";
import type { Triggers } from "../../triggers/triggers.ts";
import { acceptsForms } from "../../triggers/kinds/webhook/accept.ts";
import { checkAddress } from "../../triggers/kinds/webhook/addresses.ts";
import { callPartsOf } from "../../triggers/kinds/webhook/call-parts.ts";
import { deliveryNameIn } from "../../triggers/kinds/webhook/delivery-name.ts";
import type { WebhookPath } from "../../triggers/webhooks/find-webhook.ts";
import {
  checkSignature,
  isPing,
  isSigned,
  notSigned,
  pings,
  signedDelivery,
  type Signed,
} from "../../triggers/kinds/webhook/signature.ts";
import { Unsigned } from "../../triggers/kinds/webhook/unsigned.ts";
import { checkContentType, JSON_BODY, JSON_OR_FORM, parseJsonBody } from "../body-format.ts";

export const WEBHOOK_PATH = "/webhook/";

export function webhookPathOf(path: string): WebhookPath | undefined {
  if (!path.startsWith(WEBHOOK_PATH)) return undefined;
  const [agent = "", token = "", ...more] = path.slice(WEBHOOK_PATH.length).split("/");
  return { agent, token: more.length > 0 ? "" : token };
}

const hashOf = (text: string): Buffer => createHash("sha256").update(text).digest();

/** The token is in the path; a sender that names a bearer token as well must name the same. */
export function isBearer({ headers: { authorization } }: IncomingMessage, token: string): boolean {
  if (authorization === undefined) return true;
  const given = authorization.replace(/^bearer /i, "Bearer ");
  return timingSafeEqual(hashOf(given), hashOf(`Bearer ${token}`));
}

/** A call with its trigger. `readText`: reads its body, once. */
export type Called = {
  request: IncomingMessage;
  path: string;
  address: string;
  trigger: Trigger;
  readText: () => Promise<string>;
};

/** The text that was read to check its signature; undefined: it needs none. */
export type Proof = { text: string; signed: Signed | undefined; isPing?: boolean } | undefined;

/** Throws if the call does not prove where it comes from. The trigger's owner sees why; the caller learns nothing about secrets. */
export async function prove(triggers: Triggers, called: Called): Promise<Proof> {
  const { trigger, address } = called;
  try {
    checkAddress(trigger.policy, address);
    const proof = isSigned(trigger.policy) ? await readSigned(triggers, called) : undefined;
    // Anybody with the URL may ping it, as often as calls may be refused.
    if (proof?.isPing) triggers.refusedCalls.count(trigger, address);
    return proof;
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === "UNAVAILABLE") throw error;
    triggers.refusedCalls.count(trigger, address);
    await refuseCall(triggers, trigger, error);
    throw error instanceof Unsigned ? notSigned(trigger.policy) : error;
  }
}

async function readSigned(triggers: Triggers, { request, path, trigger, readText }: Called): Promise<Proof> {
  const { policy, organizationId, projectId } = trigger;
  if (!pings(policy)) typeOf(request, policy);
  const text = await readText();
  const query = request.url!.indexOf("?");
  const url = triggers.url + path + (query < 0 ? "" : request.url!.slice(query));
  const sent = { headers: request.headers, body: text, url };
  if (isPing(policy, sent)) return { text, signed: undefined, isPing: true };
  const signed = await checkSignature(policy, sent, triggers.clock.now(), async (name) =>
    (await readValues(triggers.secrets, organizationId, projectId, [name])).get(name),
  );
  return { text, signed };
}

/** Throws the refusal of a malformed call, which leaves a firing too: the trigger's owner sees what a sender gets wrong. */
export async function readCall(triggers: Triggers, called: Called, proof: Proof): Promise<Occasion> {
  try {
    return await occasionOf(called, proof);
  } catch (error) {
    if (error instanceof Refusal && error.code !== "UNAVAILABLE") await refuseCall(triggers, called.trigger, error);
    throw error;
  }
}

async function occasionOf({ request, trigger: { policy }, readText }: Called, proof: Proof): Promise<Occasion> {
  const type = typeOf(request, policy);
  const waitSeconds = waitOf(request);
  const name = proof ? undefined : deliveryNameIn(request.headers, policy);
  const text = proof?.text ?? (await readText());
  const payload = isForm(type) ? formIn(text) : objectIn(text);
  const bodyHash = hashOf(text).toString("hex");
  const signed = proof?.signed;
  const delivery = signed
    ? signedDelivery(policy, signed, payload, bodyHash)
    : name === undefined
      ? undefined
      : { name, bodyHash };
  return { dueAt: null, payload, parts: callPartsOf(policy, request), delivery, waitSeconds };
}

const typeOf = ({ headers }: IncomingMessage, policy: JsonObject): string =>
  checkContentType(headers, acceptsForms(policy) ? JSON_OR_FORM : JSON_BODY);

function objectIn(text: string): JsonObject {
  const value = parseJsonBody(text);
  if (!isObject(value)) throw new Refusal("BAD_REQUEST", "the request body must be a JSON object");
  return value;
}

/** A form that cannot be read is a 400, as with JSON. */
function formIn(text: string): JsonObject {
  try {
    return readFormFields(text, "the request body");
  } catch (error) {
    throw error instanceof Refusal ? new Refusal("BAD_REQUEST", error.message) : error;
  }
}

/** The query's `wait`, in seconds. */
function waitOf({ url }: IncomingMessage): number | undefined {
  const text = new URLSearchParams(url!.split("?", 2)[1]).get("wait");
  if (text === null) return undefined;
  const seconds = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (seconds >= 1 && seconds <= LIMITS.waitSeconds) return seconds;
  const message = `must be 1 to ${LIMITS.waitSeconds} (seconds)`;
  throw badInput("invalid_input", `wait ${message}`, [{ path: "wait", code: "out_of_range", message }]);
}
