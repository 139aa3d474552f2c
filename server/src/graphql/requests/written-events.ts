/**
 * Events of a subscription that differ from each other in a few values alone are executed once, with marks in place of these values. The
 * answer shows where each of them belongs, and from then on they are written there: an execution costs twenty times as much.
 */
import type { ExecutionResult } from "graphql";
import { stringify } from "../../lib/json/json-text.ts";
import { isObject } from "../../lib/json/json.ts";
import type { Repeated, Values } from "../context/repeated.ts";
import type { Result } from "./request.ts";

export type Written = { json: string };
export const isWritten = (result: ExecutionResult | Written): result is Written => "json" in result;

export const jsonOf = (result: Result): string => result.json ?? stringify(result);

/** `execute`: answers an event. */
export function writtenEvents<Event>(
  { source, valuesOf, marks, marked }: Repeated<Event>,
  execute: (event: Event) => Promise<ExecutionResult>,
): AsyncIterableIterator<ExecutionResult | Written> {
  /** Null: the answers are something else. */
  let form: Form | null | undefined;
  return {
    async next() {
      const { done, value: event } = await source.next();
      if (done) return { done, value: undefined };
      const values = valuesOf(event);
      if (values) form = form === undefined ? formOf(await execute(marked(event)), marks) : form;
      return { done: false, value: values && form ? write(form, values) : await execute(event) };
    },
    async return() {
      await source.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** Texts, and names of values where these stand. */
type Form = (string | { name: string })[];

function formOf(result: ExecutionResult, marks: Values): Form | null {
  if (result.errors || Object.keys(result).some((key) => key !== "data")) return null;
  const names = new Map(Object.entries(marks).map(([name, mark]) => [mark as unknown, name]));
  const form: Form = ['{"data":'];
  const add = (text: string): void => {
    if (typeof form.at(-1) === "string") form[form.length - 1] += text;
    else form.push(text);
  };
  const walk = (value: unknown): void => {
    const name = names.get(value);
    if (name !== undefined) return void form.push({ name });
    if (!isObject(value) || "toJSON" in value) return add(stringify(value));
    Object.entries(value).forEach(([key, child], index) => {
      add(`${index === 0 ? "{" : ","}${stringify(key)}:`);
      walk(child);
    });
    add(Object.keys(value).length === 0 ? "{}" : "}");
  };
  walk(result.data);
  add("}");
  return form;
}

function write(form: Form, values: Values): Written {
  let json = "";
  for (const part of form) json += typeof part === "string" ? part : stringify(values[part.name]);
  return { json };
}
