/** Sentences that an agent would understand, made from its name and its fields. */
import { FIELD_TYPES } from "../field-types.ts";
import type { FormField } from "../values.ts";

type Named = { name: string; inputFields: readonly FormField[] };

const MOST = 3;
/** A field with such a name needs no other. */
const PREPOSITION = /^(from|to|since|until|before|after|by|for|on) /;

export function exampleSentences({ name, inputFields }: Named): string[] {
  const parts = inputFields.map(partOf);
  const all = [parts.slice(0, 1), parts.slice(0, 3), parts.slice(1, 3)].filter((some) => some.length > 0);
  return [...new Set(all.map((some) => sentenceOf(name, some)))].slice(0, MOST);
}

/** One of many agents: its name has to be in it. */
export const exampleSentence = ({ name, inputFields }: Named): string =>
  sentenceOf(name, inputFields.slice(0, 2).map(partOf));

function sentenceOf(name: string, parts: readonly string[]): string {
  const [last, ...before] = parts.toReversed();
  const listed = before.length > 0 ? `${before.toReversed().join(", ")} and ${last}` : last;
  const joined = listed && (PREPOSITION.test(listed) ? ` ${listed}` : ` with ${listed}`);
  return `Run ${name.toLowerCase()}${joined ?? ""}.`;
}

function partOf({ name, type, choices, default: given }: FormField): string {
  const words = name
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .replaceAll("_", " ")
    .toLowerCase();
  return words + FIELD_TYPES[type].said(choices?.[0]?.value.toLowerCase(), given);
}
