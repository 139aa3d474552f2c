/** A person's changes by hand in the form of a sentence that was read: they stay however often the sentence is read again. */
import type { DraftRunInputMutation, RunFormAgentFragment } from "../../api/documents.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json.ts";
import type { Note } from "../field-label.tsx";
import { inputFrom, valuesFrom } from "../values.ts";

export type Draft = NonNullable<DraftRunInputMutation["draftRunInput"]>;

/** By the names of fields, for one agent; undefined: the field was emptied. */
export type Corrections = { agentId: string | undefined; values: ReadonlyMap<string, Json | undefined> };

export const NO_CORRECTIONS: Corrections = { agentId: undefined, values: new Map() };

/** The values that were said, and the defaults of the others, as the form has them. */
export function inputAsRead({ agent, input }: Pick<Draft, "agent" | "input">): JsonObject {
  const said = isObject(input) ? input : {};
  return agent ? asShown(agent, { ...defaultsOf(agent), ...said }) : said;
}

/** Corrections of another agent's form do not count. */
export function inputWith(draft: Pick<Draft, "agent" | "input">, corrections: Corrections): JsonObject {
  const input = new Map<string, Json | undefined>(Object.entries(inputAsRead(draft)));
  if (corrections.agentId === draft.agent?.id) for (const [name, value] of corrections.values) input.set(name, value);
  return Object.fromEntries([...input].filter((pair): pair is [string, Json] => pair[1] !== undefined));
}

/** After the form of a draft was changed to `input`. What is as it was read is no correction. */
export function corrected(draft: Pick<Draft, "agent" | "input">, before: Corrections, input: JsonObject): Corrections {
  const asRead = inputAsRead(draft);
  const shown = inputWith(draft, before);
  const agentId = draft.agent?.id;
  const values = new Map(before.agentId === agentId ? before.values : []);
  for (const name of new Set([...Object.keys(shown), ...Object.keys(input)])) {
    if (isSame(shown[name], input[name])) continue;
    if (isSame(asRead[name], input[name])) values.delete(name);
    else values.set(name, input[name]);
  }
  return { agentId, values };
}

/**
 * The fields that stand at their default while a part of the sentence was not understood: that part may be about them, so a person
 * looks at them before the run.
 */
export function unlooked(draft: Draft, corrections: Corrections): string[] {
  const { agent, unread, fields } = draft;
  if (!agent || unread.length === 0) return [];
  const [asRead, shown, defaults] = [
    inputAsRead(draft),
    inputWith(draft, corrections),
    asShown(agent, defaultsOf(agent)),
  ];
  const said = new Set(fields.map(({ name }) => name));
  return Object.keys(defaults).filter((name) => !said.has(name) && isSame(asRead[name], shown[name]));
}

/** The source of each value: it must not look as if it had been said. */
export function notesOf(draft: Draft, corrections: Corrections): ReadonlyMap<string, Note> {
  const { agent, fields, missing } = draft;
  const [asRead, shown] = [inputAsRead(draft), inputWith(draft, corrections)];
  const notes = new Map<string, Note>();
  const defaults = agent ? asShown(agent, defaultsOf(agent)) : {};
  for (const name of Object.keys(defaults)) notes.set(name, { text: "by default", kind: "plain" });
  for (const name of unlooked(draft, corrections)) notes.set(name, { text: "by default: please check", kind: "check" });
  for (const name of missing) notes.set(name, { text: "needs a value", kind: "check" });
  for (const { name, source, sure, reason } of fields)
    notes.set(
      name,
      sure ? { text: `from “${source}”`, kind: "said" } : { text: `please check: ${reason ?? source}`, kind: "check" },
    );
  for (const name of new Set([...Object.keys(asRead), ...Object.keys(shown)]))
    if (!isSame(asRead[name], shown[name])) notes.set(name, { text: "changed by you", kind: "said" });
  return notes;
}

const defaultsOf = ({ inputFields }: RunFormAgentFragment): JsonObject =>
  inputFrom(inputFields, valuesFrom(inputFields));

/** As the form gives it back when nobody touches it. An agent without fields has its input as JSON. */
const asShown = ({ inputFields }: RunFormAgentFragment, input: JsonObject): JsonObject =>
  inputFields.length > 0 ? inputFrom(inputFields, valuesFrom(inputFields, input)) : input;

const isSame = (one: Json | undefined, other: Json | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
