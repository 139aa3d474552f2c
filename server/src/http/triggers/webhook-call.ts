/** What a call of a webhook says, and whether it may: its address and its signature, before anything is counted. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { badInput, Refusal } from "../../lib/errors.ts";
import { isObject, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { readValues } from "../../secrets/read-values.ts";
import { refuseCall, type Occasion } from "../../triggers/fire.ts";
import type { Trigger } from "../../triggers/trigger.ts";
import type { Triggers } from "../../triggers/triggers.ts";
import { checkAddress } from "../../triggers/webhooks/addresses.ts";
import { deliveryNameIn } from "../../triggers/webhooks/delivery-name.ts";
import type { WebhookPath } from "../../triggers/webhooks/find-webhook.ts";
import {
  checkSignature,
  isSigned,
  notSigned,
  signedDelivery,
  Unsigned,
  type Signed,
} from "../../triggers/webhooks/signature.ts";
import { contentTypeOf, JSON_BODY } from "../content-type.ts";
import { parseJsonBody } from "../graphql/graphql-request.ts";

const PATH = "/webhook/";

export function pathOf(path: string): WebhookPath | undefined {
  if (!path.startsWith(PATH)) return undefined;
  const [agent = "", token = "", ...more] = path.slice(PATH.length).split("/");
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
export type Called = { request: IncomingMessage; address: string; trigger: Trigger; readText: () => Promise<string> };

/** What was read to see that it is signed; undefined: it need not be. */
type Proof = { text: string; signed: Signed | undefined } | undefined;

/** Throws what refuses a call that does not prove where it comes from. The trigger's owner sees why; the caller learns nothing of secrets. */
export async function prove(triggers: Triggers, called: Called): Promise<Proof> {
  const { trigger, address } = called;
  try {
    checkAddress(trigger.policy, address);
    return isSigned(trigger.policy) ? await readSigned(triggers, called) : undefined;
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === "UNAVAILABLE") throw error;
    triggers.refusedCalls.count(trigger, address);
    await refuseCall(triggers, trigger, error);
    throw error instanceof Unsigned ? notSigned() : error;
  }
}

async function readSigned(triggers: Triggers, { request, trigger, readText }: Called): Promise<Proof> {
  checkType(request);
  const text = await readText();
  const { policy, organizationId, projectId } = trigger;
  const sent = { headers: request.headers, body: text };
  const signed = await checkSignature(policy, sent, triggers.clock.now(), async (name) =>
    (await readValues(triggers.secrets, organizationId, projectId, [name])).get(name),
  );
  return { text, signed };
}

/** Throws what refuses it. What is no delivery at all is a firing too: the trigger's owner sees what a sender gets wrong. */
export async function readCall(triggers: Triggers, called: Called, proof: Proof): Promise<Occasion> {
  try {
    return await occasionOf(called, proof);
  } catch (error) {
    if (error instanceof Refusal && error.code !== "UNAVAILABLE") await refuseCall(triggers, called.trigger, error);
    throw error;
  }
}

async function occasionOf({ request, trigger: { policy }, readText }: Called, proof: Proof): Promise<Occasion> {
  checkType(request);
  const waitSeconds = waitOf(request);
  const name = proof ? undefined : deliveryNameIn(request.headers, policy);
  const text = proof?.text ?? (await readText());
  const payload = objectIn(text);
  const bodyHash = hashOf(text).toString("hex");
  const signed = proof?.signed;
  const delivery = signed
    ? signedDelivery(policy, signed, payload, bodyHash)
    : name === undefined
      ? undefined
      : { name, bodyHash };
  return { dueAt: null, payload, delivery, waitSeconds };
}

function checkType(request: IncomingMessage): void {
  contentTypeOf(request.headers, JSON_BODY);
}

function objectIn(text: string): JsonObject {
  const value = parseJsonBody(text);
  if (!isObject(value)) throw new Refusal("BAD_REQUEST", "the request body must be a JSON object");
  return value;
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
