import { JsonText, type Payload } from "../lib/json/json-text.ts";
import { readPayloads, type PayloadKey } from "../runs/read/read-payloads.ts";
import type { Call, Mcp } from "./call.ts";

/** How many times a payload stands in an answer: as a value, and within a text that escapes its quotes. */
const COPIES = 3;

/** Charged before it is read. */
export async function readPayload(
  { runs }: Mcp,
  { caller, charge }: Call,
  payload: Payload | null,
  key: PayloadKey,
): Promise<JsonText | null> {
  if (payload === null) return null;
  charge(COPIES * payload.bytes);
  if (payload instanceof JsonText) return payload;
  return (await readPayloads(runs, caller.organizationId, [key]))[0] ?? null;
}
