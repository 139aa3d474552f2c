/** The types of an agent's input fields, but for their controls (`field.tsx`): how a value is shown, sent and checked, and an example of one. */
import type { InputFieldType } from "../api/documents.ts";
import { numberOf, type ExactNumber } from "../lib/exact-number.ts";
import type { Json } from "../lib/json.ts";

/** As people see it: text, also of numbers and of lists (a line each); undefined: nothing was said. */
export type FieldValue = string | boolean | readonly string[] | undefined;

type FieldType = {
  /** A value as the form shows it. */
  shown: (value: NonNullable<Json>, hasChoices: boolean) => FieldValue;
  /** A text of the form as it is sent; it is not empty. */
  sent: (text: string) => Json;
  /** A problem that shows at a glance. */
  problem?: (text: string) => string | undefined;
  /** After the field's name in an example sentence. `choice`: the first, if there are choices. */
  said: (choice: string | undefined, standard: Json) => string;
  /** A value for an example call. `text`: the first choice, if there are choices. `today`: as YYYY-MM-DD. */
  sample: (text: string, today: string) => Json;
};

const textOf = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

const TEXT: FieldType = {
  shown: textOf,
  sent: (text) => text,
  said: (choice = "“Acme”") => ` ${choice}`,
  sample: (text) => text,
};
const NUMBER: FieldType = {
  shown: textOf,
  sent: (text) => {
    const number = numberIn(text);
    return Number.isNaN(number) ? text : number;
  },
  problem: (text) => (Number.isNaN(numberIn(text)) ? "must be a number" : undefined),
  said: (choice, standard) => ` ${choice ?? (typeof standard === "number" ? standard : 12)}`,
  sample: () => 1,
};

export const FIELD_TYPES: Record<InputFieldType, FieldType> = {
  text: TEXT,
  choice: TEXT,
  date: { ...TEXT, said: () => " tomorrow", sample: (_text, today) => today },
  boolean: {
    ...TEXT,
    shown: (value) => (typeof value === "boolean" ? value : undefined),
    said: () => "",
    sample: () => true,
  },
  number: NUMBER,
  integer: {
    ...NUMBER,
    problem: (text) =>
      NUMBER.problem?.(text) ?? (Number.isInteger(Number(numberIn(text))) ? undefined : "must be a whole number"),
  },
  list: {
    shown: (value, hasChoices) => {
      if (!Array.isArray(value)) return undefined;
      const texts = value.map(textOf);
      return hasChoices ? texts : texts.join("\n");
    },
    sent: (text) =>
      text
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== ""),
    said: (choice = "Ada") => ` ${choice}`,
    sample: (text) => [text],
  },
};

/** `1,200.50` and `1200,5` are numbers for those who write them so; NaN if it is none. */
export function numberIn(text: string): number | ExactNumber {
  const plain = text.trim().replace(/(?<=\d)[\s_'](?=\d{3})/g, "");
  if (/^[-+]?\d{1,3}(,\d{3})+(\.\d+)?$/.test(plain)) return numberOf(plain.replaceAll(",", ""));
  return plain === "" ? Number.NaN : numberOf(plain.replace(/^([-+]?\d+),(\d+)$/, "$1.$2"));
}
