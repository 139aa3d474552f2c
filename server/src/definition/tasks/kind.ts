/**
 * A kind of task in the language: how it is written, how it is compiled and which lists of tasks it contains.
 * Each kind has one file here and one line in kinds.ts; how it runs is in execution/tasks/.
 */
import type { JsonObject } from "../../lib/json/json.ts";
import type { Rule } from "../rules/lint.ts";
import { valueAt } from "../text/problem.ts";
import type { Properties } from "../schema/schema-words.ts";

export type Kind = {
  /** For a call, its full name. Any other kind is recognized by its own name, which is a key of the task. */
  call?: string;
  /** A call of any name that the language leaves to `use.functions`. */
  callsFunction?: true;
  /** For a kind that shares its keyword with another one: the key below the keyword by which it is recognized. The other one has its schema. */
  below?: { keyword: string; key: string };
  /** The keys of such a task besides those that every task may have; for a call, the keys of `with`. */
  properties: Properties;
  required: string[];
  /** A call has exactly one of these keys besides. */
  oneOfKeys?: readonly string[];
  /** The linter's rules for meanings (`x-value`) in `properties` that no other kind uses. */
  rules?: Record<string, Rule>;
  /** The variables that it provides to parts of itself. */
  variables?: readonly Variable[];
  /** The parts of the task whose expressions may refer to `$secrets`. */
  secretsIn?: readonly (readonly string[])[];
  /** Its lists of tasks, by their names in the program. This is the only description of where they are. */
  blocks: Record<string, Inner>;
  /** The thing that a step waits for while nothing is done for it: its state says until when, which approval, which run, or which events. */
  waitsFor: "nothing" | "time" | "person" | "child" | "event";
  /** Its purpose is to lead elsewhere than to the next task, or to raise an error. */
  mayLeadElsewhere?: true;
  /** It is a single outside effect: alone in a `try`, it runs in the step of the `try` and needs none of its own. */
  isEffect?: true;
  /**
   * Makes the body of the compiled task, without the lists. `reference` is the JSON pointer to the task. If the body has `arguments`, their values are shown as the step's input instead
   * of the task's.
   */
  compile: (task: never, named: Named, reference: string) => object;
};

/** In `secretsIn`: any item of a list. */
export const EACH_ITEM = "*";

/** A list of tasks inside a task. */
export type Inner = {
  /** Where it is written, below the task. Undefined: under `use.functions`, by the name that the task calls. */
  at?: readonly string[];
  way: Way;
  /** The author may leave it out. */
  isOptional?: true;
};

/** How a task runs a list inside it. What this means for the keys of steps is in execution/journal/step-keys.ts. */
export type Way =
  | "once"
  /** Each task on its own, all at the same time. */
  | "branches"
  /** Once for each item. */
  | "items"
  /** Until it succeeds. */
  | "tries"
  /** Once, when the tries have failed. */
  | "catch";

export type Variable = {
  /** Where the author may write its name, below the task. */
  at?: readonly string[];
  /** Its name when none is written. */
  otherwise: string;
  /** The parts of the task in which it is known. */
  knownIn: readonly (readonly string[])[];
};

/** Resolves a definition that is written in place or named under `use`. */
export type Named = <Value>(of: "errors" | "retries" | "timeouts" | "authentications", value: Value | string) => Value;

/** The name that the author has given to a variable of this task, or its default. */
export function variableName(task: object, { at, otherwise }: Variable): string {
  const written = at && valueAt(task as JsonObject, at);
  return typeof written === "string" ? written : otherwise;
}
