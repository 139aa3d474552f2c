/** Makes a run's input from a firing's payload, by the policy `mapping`. */
import { ExpressionError } from "../../expressions/parsing/expression-error.ts";
import type { Variables } from "../../expressions/expressions.ts";
import { badInput, Refusal } from "../../lib/errors.ts";
import type { OrganizationId } from "../../lib/ids.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { shortenedTo } from "../../lib/text.ts";
import { mappingOf } from "../kinds/contract/mapping.ts";
import type { Firings } from "./firings.ts";

/** A result that takes more memory than this needs one of a few places, which it keeps until it is written. */
const LARGE_BYTES = 256 * 1024;
/** The longest wait for a place. */
const WAIT_MS = 10_000;

/**
 * Calls `start` with the result of the policy's mapping, or with `data` if it has none. Throws BAD_USER_INPUT if the mapping fails or
 * returns no object, UNAVAILABLE, and what `start` throws.
 */
export async function withMapped<Result>(
  firings: Firings,
  organizationId: OrganizationId,
  policy: JsonObject,
  { data, variables }: { data: JsonObject | undefined; variables: Variables },
  start: (input: JsonObject | undefined) => Promise<Result>,
): Promise<Result> {
  const template = mappingOf(policy);
  if (!template) return start(data);
  let bytes = 0;
  const evaluate = async (): Promise<JsonObject> => {
    const made = (heldBytes: number): void => void (bytes += heldBytes);
    const { expressions } = firings.runs.executions;
    return objectOf(await expressions.evaluate(template, data ?? {}, variables, organizationId, made));
  };
  const small = await evaluate().then((input) => (bytes <= LARGE_BYTES ? input : undefined), asRefusal);
  if (small) return start(small);
  // Dropped, and evaluated again when there is a place: each of many that wait would hold megabytes.
  await takePlace(firings, organizationId);
  try {
    return await start(await evaluate().catch(asRefusal));
  } finally {
    firings.largeInputs.release(organizationId);
  }
}

async function takePlace({ largeInputs, clock }: Firings, organizationId: OrganizationId): Promise<void> {
  const ending = new AbortController();
  using _late = clock.at(clock.now() + WAIT_MS, () => ending.abort());
  if (await largeInputs.take(organizationId, ending.signal)) return;
  const message = "large inputs of the organization's triggers wait to be written: fire it again in a moment";
  throw new Refusal("UNAVAILABLE", message, { retryAfter: 1 });
}

function objectOf(value: Json): JsonObject {
  if (isObject(value)) return value;
  const is = value === null ? "null" : Array.isArray(value) ? "a list" : `a ${typeof value}`;
  throw refused(`the trigger's mapping must return an object, but returned ${is}`);
}

/** The expression itself is not shown to senders. */
function asRefusal(error: unknown): never {
  if (error instanceof ExpressionError) throw refused(`the trigger's mapping failed: ${error.reason}`);
  throw error;
}

const refused = (sentence: string): Refusal => {
  const message = shortenedTo(sentence, LIMITS.messageCharacters);
  return badInput("invalid_input", message, [{ path: "policy.mapping", code: "invalid", message }]);
};
