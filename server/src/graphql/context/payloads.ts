/** Fields whose values may be large: they are read only when selected, and counted before that. */
import { JsonText, type Payload } from "../../lib/json/json-text.ts";
import type { PayloadKey } from "../../runs/read/read-payloads.ts";
import type { RunError } from "../../execution/run/run.ts";
import type { Context } from "./context.ts";

export function readPayload(
  { size, loaders }: Context,
  payload: Payload | null,
  key: PayloadKey,
): JsonText | null | Promise<JsonText> {
  if (payload === null) return null;
  size.charge(payload.bytes);
  return payload instanceof JsonText ? payload : loaders.payload(key);
}

export async function readError(context: Context, payload: Payload | null, key: PayloadKey): Promise<RunError | null> {
  const text = await readPayload(context, payload, key);
  return text && (text.value as RunError);
}
