/** The idempotency key of a tool's call. */
import { isObject, type JsonObject } from "../lib/json/json.ts";
import { IDEMPOTENCY_KEY } from "../lib/mcp/protocol.ts";
import { checkedKey } from "../runs/idempotency-key.ts";
import type { Call } from "./call.ts";
import { ProtocolError } from "./protocol.ts";

/** From `_meta`, the header, or both. Throws BAD_USER_INPUT and ProtocolError. */
export function keyOfCall(call: Call, { _meta: meta }: JsonObject): string | undefined {
  const key = isObject(meta) ? meta[IDEMPOTENCY_KEY] : undefined;
  if (key !== undefined && typeof key !== "string")
    throw new ProtocolError("invalidParams", `_meta["${IDEMPOTENCY_KEY}"] must be a string`, 200);
  return checkedKey(key, call.idempotencyKey, `_meta.${IDEMPOTENCY_KEY}`);
}
