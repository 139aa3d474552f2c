/**
 * A step's key is the path of its enclosing tasks, each as `name#visit`, with the number of an item or `catch` where needed:
 * `loop#1/2/greet#1`, `pay#1/catch/tell#1`. A step's round says in which try of each enclosing `try` it was reached.
 */
import type { Way } from "../../definition/tasks/kind.ts";
import type { JournalStep } from "./loaded-run.ts";

/** The part of a key between a task and a task inside it; `number` is the item's, from 1. */
const PARTS: { readonly [Name in Way]: "" | "number" | "catch" } = {
  once: "",
  branches: "",
  tries: "",
  items: "number",
  catch: "catch",
};
/** Comes before a task's own steps (`ownSteps`). */
const OWN = "steps";

/** The beginning of the keys of the tasks inside a task. `item` counts from 1. */
export function keyInside(key: string, way: Way, item?: number): string {
  const part = PARTS[way];
  return part === "" ? `${key}/` : `${key}/${part === "number" ? item : part}/`;
}

export const ownKey = (key: string): string => `${key}/${OWN}/`;
/** The key of the task's step, for one of its own steps; other keys as they are. */
export const keyOfTask = (key: string): string => key.split(`/${OWN}/`, 1)[0]!;
export const isOwn = (key: string): boolean => key.includes(`/${OWN}/`);

/** `limit-tokens-1#1`: an assistant's question to a person about a limit. */
export const isQuestionOfLimit = (key: string): boolean => key.includes(`/${OWN}/limit-`);

/** Whether two are calls, or questions about them, in the same answer of an assistant's model: neither depends on the other. */
export function areBeside(one: string, other: string): boolean {
  const [first, second] = [CALL.exec(one), CALL.exec(other)];
  return first !== null && second !== null && first[1] === second[1] && first[2] !== second[2];
}
/** `tool-2-1#1` or `approval-2-1#1`, by the number of the answer and that of the call. */
const CALL = /\/(?:tool|approval)-(\d+)-(\d+)#\d+$/;

/** Whether this part of a key, or its absence (empty), leads into a list that is run in this way. */
export const leadsInto = (part: string, way: Way): boolean =>
  PARTS[way] === "number" ? /^\d+$/.test(part) : PARTS[way] === part;

/** The part of an inner key, or of the beginning of one, that follows the task's own key; empty if there is none. */
export function partAfter(key: string, inner: string): string {
  const rest = inner.slice(key.length + 1);
  const part = rest.slice(0, Math.max(0, rest.indexOf("/")));
  return part.includes("#") ? "" : part;
}

type Tried = Pick<JournalStep, "round" | "state">;

/** The round of the tasks inside a task. */
export const roundInside = ({ round, state }: Tried, way: Way): string =>
  way === "tries" ? `${round}${state.try}.` : round;

/** Whether a task that is not over is in this list now: in its tries until their error is caught, in `catch` from then on. */
export function isWithin({ state }: Tried, way: Way): boolean {
  if (way === "tries") return state.caught === undefined;
  return way !== "catch" || state.caught !== undefined;
}

/** The way by which a task came to a step inside it. Ways with the same keys and rounds are not told apart. */
export function wayInto(around: Pick<JournalStep, "key" | "state">, inner: string): Way {
  const part = partAfter(around.key, inner);
  if (leadsInto(part, "catch")) return "catch";
  if (leadsInto(part, "items")) return "items";
  return part === "" && around.state.try !== undefined ? "tries" : "once";
}

/** The key of the step that encloses a key (`loop#1` of `loop#1/2/greet#1`); empty: there is none. */
export function enclosing(key: string): string {
  let end = key.lastIndexOf("/");
  // A part without a visit: the number of an item, `catch`, or `steps`.
  while (end > 0 && !key.slice(key.lastIndexOf("/", end - 1) + 1, end).includes("#"))
    end = key.lastIndexOf("/", end - 1);
  return key.slice(0, Math.max(0, end));
}

/** How many times the task was reached in this place, this time included. */
export const visitOf = (key: string): number => Number(key.slice(key.lastIndexOf("#") + 1));

/** The number of the item that the step belongs to, from 1; null: its task is not directly in a list of items. */
export function itemOf(key: string): number | null {
  const around = enclosing(key);
  const part = around === "" ? "" : partAfter(around, key);
  return leadsInto(part, "items") ? Number(part) : null;
}

/** The keys of all steps that enclose any of these, each visited once. */
export function allAround(steps: Iterable<{ key: string }>): Set<string> {
  const around = new Set<string>();
  for (const step of steps) {
    let key = enclosing(step.key);
    while (key !== "" && !around.has(key)) {
      around.add(key);
      key = enclosing(key);
    }
  }
  return around;
}
