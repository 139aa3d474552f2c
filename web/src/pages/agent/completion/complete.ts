/** Offers at a place of a definition, for CodeMirror's list. They follow from the language alone. */
import { startCompletion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import type { EditorView } from "@codemirror/view";
import { alternatives, partsAt, resolve, type Language, type Part } from "./language.ts";
import { keysUnder, namesBeside, placeAt, type KeyStep, type Place } from "./place.ts";
import { HOLE, tasksIn, writtenAfterKey } from "./written.ts";

/** `text`: written in place of what was typed, with holes. */
type Offer = {
  label: string;
  type: "class" | "property" | "enum";
  detail?: string;
  info?: string;
  text: string;
};

/** Completes definitions of this language. */
export const completeIn =
  (language: Language) =>
  ({ state, pos, explicit }: CompletionContext): CompletionResult | null => {
    const line = state.doc.lineAt(pos);
    const lines = state.doc.toString().split("\n");
    const place = placeAt(lines, line.number - 1, line.text.slice(0, pos - line.from));
    // An empty line is where somebody reads, and a key that is there needs no other.
    const isQuiet = place?.written === "" && place.is === "key" && !place.isItem && !explicit;
    if (!place || isQuiet || line.text.slice(pos - line.from).trim() !== "") return null;
    const options = offersAt(language, lines, place).map(({ text, ...offer }) => ({
      ...offer,
      apply: (view: EditorView, _: unknown, from: number, to: number): void => write(view, text, from, to),
    }));
    return options.length === 0 ? null : { from: pos - place.written.length, options, validFor: /^[\w$.-]*$/ };
  };

/** Goes on with what may stand in the hole. */
function write(view: EditorView, text: string, from: number, to: number): void {
  const insert = text.replaceAll(HOLE, "");
  const hole = text.indexOf(HOLE);
  view.dispatch({
    changes: { from, to, insert },
    selection: { anchor: from + (hole < 0 ? insert.length : hole) },
    scrollIntoView: true,
    userEvent: "input.complete",
  });
  startCompletion(view);
}

/** `lines`: the whole text. */
export function offersAt(language: Language, lines: readonly string[], place: Place): readonly Offer[] {
  const parts = partsAt(language, place);
  const offers =
    place.is === "value"
      ? parts.flatMap((part) => alternatives(language, part)).flatMap((part) => valuesOf(part, lines, place))
      : parts.flatMap((part) => [...tasksOf(language, part, place), ...keysOf(language, part, place)]);
  const others = offers.filter(({ label }) => place.is === "key" || label !== place.written);
  // A whole task is offered before its keyword alone.
  return others.filter(({ label }, at) => others.findIndex((one) => one.label === label) === at);
}

type KeyPlace = Extract<Place, { is: "key" }>;

const TASK = "#/$defs/task";

/** Whole tasks: as an item of a list with a name, or below one. */
function tasksOf(language: Language, part: Part, { column, mapping, isItem }: KeyPlace): readonly Offer[] {
  const isNamed = part.$ref === TASK;
  const task = isNamed ? part : part.values;
  if (task?.$ref !== TASK || (isNamed ? mapping.size > 0 : !isItem)) return [];
  return tasksIn(language, task).map(({ label, write: body }) => ({
    label,
    type: "class",
    text: isNamed ? body(column) : `${HOLE}:\n${" ".repeat(column + 2)}${body(column + 2)}`,
  }));
}

function keysOf(language: Language, part: Part, { column, mapping }: KeyPlace): readonly Offer[] {
  const possible = alternatives(language, part, mapping);
  return possible.flatMap(({ properties = {}, required = [] }) =>
    Object.entries(properties)
      .filter(([key]) => !mapping.has(key))
      .map(([key, value]): Offer => {
        const { hint } = resolve(language, value);
        return {
          label: key,
          type: "property",
          ...(possible.length === 1 && required.includes(key) && { detail: "required" }),
          ...(hint && { info: hint }),
          text: `${key}:${writtenAfterKey(language, value, column)}`,
        };
      }),
  );
}

/** Keywords of `then` beside the tasks of the list. */
const WAYS_ON = ["continue", "exit", "end"];

function valuesOf(
  { const: only, enum: some, type, means }: Part,
  lines: readonly string[],
  place: Place,
): readonly Offer[] {
  const words =
    only !== undefined
      ? [only]
      : (some ?? (type === "boolean" ? [true, false] : means === undefined ? [] : namesOf(means, lines, place)));
  return words.map((word) => ({ label: String(word), type: "enum", text: String(word) }));
}

/** The names in the text that a value refers to: of tasks in the same list, or of what is written under `use`. */
function namesOf(means: string, lines: readonly string[], { path }: Place): readonly string[] {
  if (means !== "then") return keysUnder(lines, means.split("."));
  const task = path.findLast((step, at): step is KeyStep => isTask(path, at) && step.key !== undefined);
  return [...(task ? namesBeside(lines, task) : []), ...WAYS_ON];
}

/** An item of a list has one key, its name; those of a `switch` are cases. */
const isTask = (path: Place["path"], at: number): boolean =>
  at > 1 && path[at - 1]!.key === undefined && path[at - 2]!.key !== "switch";
