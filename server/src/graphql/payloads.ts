/** Fields whose value may be large: counted before it is read, and read only when it is asked for. */
import { JsonText } from "../lib/json-text.ts";
import type { PayloadKey } from "../runs/read-payloads.ts";
import type { Payload, RunError } from "../runs/run.ts";
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

/** `step`: the number of the step that raised it, where the payload doesn't say it. */
export async function readError(
  context: Context,
  payload: Payload | null,
  key: PayloadKey,
  step?: number | null,
): Promise<RunError | null> {
  const text = await readPayload(context, payload, key);
  if (text === null) return null;
  const error = text.value as RunError;
  return step === undefined ? error : { ...error, step };
}
