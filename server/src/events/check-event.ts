/** Checks an event before it is published. */
import { isPlainText } from "../lib/mail/email-address.ts";
import { badInput, type FieldProblem } from "../lib/errors.ts";
import { isObject } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import { isVisible } from "../lib/text.ts";
import { OWN_SOURCE } from "./own-source.ts";
import type { GivenEvent } from "./event.ts";

/** The keys' names as its caller spells them. */
export type EventKeys = Record<keyof GivenEvent, string>;
export const EVENT_KEYS: EventKeys = {
  source: "source",
  event: "event",
  id: "id",
  time: "time",
  data: "data",
  subject: "subject",
};

/** Its data as JSON. Adds what is wrong to `problems`; `path`: where it is, with a dot at the end unless that is nowhere. */
export function checkEvent(given: GivenEvent, path: string, keys: EventKeys, problems: FieldProblem[]): string {
  const add = (key: keyof GivenEvent, code: FieldProblem["code"], message: string): void =>
    void problems.push({ path: `${path}${keys[key]}`, code, message });
  for (const key of ["source", "event", "id"] as const) {
    const wrong = nameProblem(given[key]);
    if (wrong) add(key, wrong.code, wrong.message);
  }
  if (given.subject !== undefined) {
    const wrong = nameProblem(given.subject);
    if (wrong) add("subject", wrong.code, wrong.message);
  }
  if (given.source === OWN_SOURCE)
    add("source", "not_a_choice", `must not be ${OWN_SOURCE}: it is reserved for the service's own events`);
  if (!isObject(given.data)) {
    add("data", "wrong_type", "must be an object: it becomes the input of runs");
    return "{}";
  }
  const text = JSON.stringify(given.data);
  if (text.length > LIMITS.eventDataBytes / 3 && Buffer.byteLength(text) > LIMITS.eventDataBytes)
    add("data", "too_large", `must have at most ${LIMITS.eventDataBytes} bytes as JSON`);
  return text;
}

function nameProblem(text: string): Pick<FieldProblem, "code" | "message"> | undefined {
  if (text.trim() === "") return { code: "required", message: "must not be empty" };
  if (text.length > LIMITS.eventNameCharacters)
    return { code: "too_long", message: `must have at most ${LIMITS.eventNameCharacters} characters` };
  if (!isPlainText(text)) return { code: "invalid", message: "must not contain control characters or lone surrogates" };
  return isVisible(text) ? undefined : { code: "invalid", message: "must have a visible character" };
}

/** Throws BAD_USER_INPUT for a source or a name that no event can have. */
export function checkName(text: string, path: string): void {
  const wrong = nameProblem(text);
  if (wrong) throw badInput("invalid_input", `${path} ${wrong.message}`, [{ path, ...wrong }]);
}
