/** Problems of a form's fields: found here while they are filled in, or by the server when they were sent. */
import { useState } from "react";
import { restOf, type Refusal } from "../api/refusal.ts";
import { problemOf, type FieldValue, type FormField, type Values } from "./values.ts";

/** By the field's name, said of its title: `must be a number`. */
export type Problems = ReadonlyMap<string, string>;

/** `rest`: the problems that belong to none of the form's fields. */
export type Found = { ofFields: Problems; rest: Refusal | undefined };

const NONE: Found = { ofFields: new Map(), rest: undefined };

/** `refused`: why the server refused it before. */
export function useProblems(fields: readonly FormField[], refused: Refusal | undefined) {
  const [{ ofFields, rest }, show] = useState<Found>(() => (refused ? problemsIn(refused, fields) : NONE));
  /** Checks one field, also as it is left because `show` has moved the focus. */
  const look = (field: FormField, value: FieldValue): void =>
    show((before) => {
      const next = new Map(before.ofFields);
      const problem = problemOf(field, value);
      if (problem) next.set(field.name, problem);
      else next.delete(field.name);
      return { ...before, ofFields: next };
    });
  return { problems: ofFields, rest, look, show };
}

/** Problems that show before anything is sent. */
export const problemsOf = (fields: readonly FormField[], values: Values): Problems =>
  new Map(
    fields.flatMap((field) => {
      const problem = problemOf(field, values[field.name]);
      return problem ? [[field.name, problem] as const] : [];
    }),
  );

export function problemsIn(refusal: Refusal, fields: readonly FormField[]): Found {
  const names = new Set<string | undefined>(fields.map(({ name }) => name));
  const found = refusal.fields.filter(({ path }) => names.has(nameIn(path)));
  return {
    ofFields: new Map(found.map(({ path, message }) => [nameIn(path)!, message])),
    rest: restOf(refusal, (path) => names.has(nameIn(path))),
  };
}

/** `amount`, of `input.input.amount`. */
const nameIn = (path: string): string | undefined => path.split(".")[2];
