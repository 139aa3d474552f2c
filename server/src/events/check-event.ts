/** Checks an event before it is published. */
import { badInput, type FieldProblem } from "../lib/errors.ts";
import { checkData, nameProblem, SIGNAL_SOURCE } from "../lib/events/event-name.ts";
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
  if (given.source === SIGNAL_SOURCE)
    add("source", "not_a_choice", `must not be ${SIGNAL_SOURCE}: it is reserved for signals`);
  const { text, problem } = checkData(given.data, "must be an object: it becomes the input of runs");
  if (problem) add("data", problem.code, problem.message);
  return text;
}

/** Throws BAD_USER_INPUT for a source or a name that no event can have. */
export function checkName(text: string, path: string): void {
  const wrong = nameProblem(text);
  if (wrong) throw badInput("invalid_input", `${path} ${wrong.message}`, [{ path, ...wrong }]);
}
