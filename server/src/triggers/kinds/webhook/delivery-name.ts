/** The name of a delivery at its sender, by which a repeat is recognized. */
import type { IncomingHttpHeaders } from "node:http";
import { isPlainText } from "../../../lib/mail/email-address.ts";
import { badInput } from "../../../lib/errors.ts";
import type { Json, JsonObject } from "../../../lib/json/json.ts";
import { LIMITS } from "../../../lib/limits.ts";
import type { Key, Problems } from "../contract/trigger-kind.ts";
import { isHeaderName, SECRET_HEADERS } from "./header-name.ts";

export const DELIVERY_HEADER_KEY: Key = {
  api: "String",
  description: `A header in which the sender names each delivery, in addition to \`Idempotency-Key\` and \`webhook-id\`. A delivery starts only one run within ${LIMITS.idempotencyHours} hours. Not allowed together with \`signature\`: a signed delivery is known by what is signed.`,
};

/** The name's place as it is stored. */
export function settleDeliveryHeader({ deliveryHeader, signature }: JsonObject, problems: Problems): JsonObject {
  if (deliveryHeader === undefined) return {};
  const header = String(deliveryHeader).toLowerCase();
  if (!isHeaderName(deliveryHeader))
    problems.add("deliveryHeader", "invalid", "must be the name of a header, of at most 100 characters");
  else if (SECRET_HEADERS.has(header))
    problems.add("deliveryHeader", "invalid", `must not be ${header}: firings show what a delivery is called`);
  else if (signature !== undefined)
    problems.add("deliveryHeader", "invalid", "must be left out: a signed delivery is known by what is signed");
  return { deliveryHeader: header };
}

const isShort = (name: string): boolean => name.length <= LIMITS.deliveryCharacters;

export const isDeliveryName = (value: Json | undefined): value is string =>
  typeof value === "string" && value !== "" && isShort(value) && isPlainText(value);

/** By the first of these headers that it sends. Throws BAD_USER_INPUT. */
export function deliveryNameIn(headers: IncomingHttpHeaders, { deliveryHeader }: JsonObject): string | undefined {
  for (const header of [deliveryHeader as string | undefined, "idempotency-key", "webhook-id"]) {
    const value = header === undefined ? undefined : headers[header];
    if (typeof value === "string" && value !== "") return checkedName(header!, value);
  }
  return undefined;
}

/** Throws BAD_USER_INPUT. */
export function checkedName(header: string, value: string): string {
  if (isDeliveryName(value)) return value;
  const message = `must be plain text of at most ${LIMITS.deliveryCharacters} characters`;
  throw badInput("invalid_input", `the header ${header} ${message}`, [
    { path: header, code: isShort(value) ? "invalid" : "too_long", message },
  ]);
}
