/** Names and data of events and signals: what they may be. */
import type { FieldProblem } from "../errors.ts";
import { isObject, type Json } from "../json/json.ts";
import { LIMITS } from "../limits.ts";
import { isPlainText } from "../mail/email-address.ts";
import { isVisible } from "../text.ts";

/** The source of signals, as `listen` sees it. Nobody publishes an event with it. */
export const SIGNAL_SOURCE = "autograph/signal";

type Problem = Pick<FieldProblem, "code" | "message">;

export function nameProblem(text: string): Problem | undefined {
  if (text.trim() === "") return { code: "required", message: "must not be empty" };
  if (text.length > LIMITS.eventNameCharacters)
    return { code: "too_long", message: `must have at most ${LIMITS.eventNameCharacters} characters` };
  if (!isPlainText(text)) return { code: "invalid", message: "must not contain control characters or lone surrogates" };
  return isVisible(text) ? undefined : { code: "invalid", message: "must have a visible character" };
}

/** The data as JSON; `notObject`: the message for anything else. */
export function checkData(data: Json, notObject: string): { text: string; problem?: Problem } {
  if (!isObject(data)) return { text: "{}", problem: { code: "wrong_type", message: notObject } };
  const text = JSON.stringify(data);
  const isLarge = text.length > LIMITS.eventDataBytes / 3 && Buffer.byteLength(text) > LIMITS.eventDataBytes;
  if (!isLarge) return { text };
  return {
    text,
    problem: { code: "too_large", message: `must have at most ${LIMITS.eventDataBytes} bytes as JSON` },
  };
}
