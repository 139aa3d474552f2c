/** Which events of a source a trigger takes: for each field of the event's data, the values that it accepts. */
import { shortened, type FieldProblem } from "../errors.ts";
import { ExactNumber, exactKey, plainZero } from "../json/exact-number.ts";
import { isObject, isScalar, type Json, type JsonObject } from "../json/json.ts";
import { LIMITS } from "../limits.ts";
import { isStorable, UNSTORABLE } from "../text.ts";

/** Called for a wrong value: which key (a path in dots), and a sentence that begins with a verb. */
type Problems = { add(key: string, code: FieldProblem["code"], message: string): void };

/** `path`: the names between the dots of `field`. */
export type Filter = readonly { field: string; path: readonly string[]; accepted: Values }[];

/** Scalars, found by their type and value. JavaScript's sets tell them apart as JSON does, except for numbers of many digits. */
class Values {
  readonly #values = new Set<Json>();
  readonly #exact = new Set<string>();

  constructor(values: readonly Json[]) {
    for (const value of values) {
      const known = plainZero(value);
      if (known instanceof ExactNumber) this.#exact.add(exactKey(known));
      else this.#values.add(known);
    }
  }

  has(value: Json): boolean {
    const known = plainZero(value);
    return known instanceof ExactNumber
      ? this.#exact.size > 0 && this.#exact.has(exactKey(known))
      : this.#values.has(known);
  }

  isDisjointFrom(others: Values): boolean {
    return this.#values.isDisjointFrom(others.#values) && this.#exact.isDisjointFrom(others.#exact);
  }
}

/** Applies a filter that was checked. */
export const compileFilter = (filter: Json | undefined): Filter =>
  isObject(filter)
    ? Object.entries(filter).map(([field, values]) => ({
        field,
        path: field.split("."),
        accepted: new Values(values as Json[]),
      }))
    : [];

/** Adds what is wrong to `problems`, naming the place. */
export function checkFilter(filter: Json, problems: Problems): void {
  if (!isObject(filter))
    return problems.add("filter", "wrong_type", "must be an object: for each field of the data, a list of its values");
  if (Buffer.byteLength(JSON.stringify(filter)) > LIMITS.eventFilterBytes)
    return problems.add("filter", "too_large", `must have at most ${LIMITS.eventFilterBytes} bytes as JSON`);
  const fields = Object.entries(filter);
  if (fields.length > LIMITS.eventFilterFields)
    return problems.add("filter", "too_many", `must have at most ${LIMITS.eventFilterFields} fields`);
  for (const [field, values] of fields) checkField(field, values, problems);
}

function checkField(field: string, values: Json, problems: Problems): void {
  const at = `filter.${shortened(field)}`;
  if (field === "" || !isStorable(field)) return problems.add(at, "invalid", "must be the name of a field of the data");
  if (!Array.isArray(values)) return problems.add(at, "wrong_type", "must be a list of the values that it accepts");
  if (values.length === 0) return problems.add(at, "too_few", "must have a value: without one, no event would match");
  if (values.length > LIMITS.eventFilterValues)
    return problems.add(at, "too_many", `must have at most ${LIMITS.eventFilterValues} values`);
  for (const [index, value] of values.entries()) {
    if (!isScalar(value)) problems.add(`${at}.${index}`, "wrong_type", "must be text, a number, true, false or null");
    else if (typeof value === "string" && !isStorable(value)) problems.add(`${at}.${index}`, "invalid", UNSTORABLE);
  }
}

/** The first field by which the data does not match; undefined: it matches. */
export const unmatched = (filter: Filter, fields: Fields): string | undefined =>
  filter.find(({ field, path, accepted }) => !fields.match(field, path, accepted))?.field;

/** The data of an event, as thousands of filters look into it: a list of thousands of elements is gone through once. */
export class Fields {
  readonly #data: JsonObject;
  readonly #elements = new Map<Json[], Values>();

  constructor(data: JsonObject) {
    this.#data = data;
  }

  has(field: string): boolean {
    return this.at(field) !== undefined;
  }

  at(field: string): Json | undefined {
    return this.#at(field, field.split("."));
  }

  /** A list matches by any of its elements. What is not there matches nothing, not even null. */
  match(field: string, path: readonly string[], accepted: Values): boolean {
    const value = this.#at(field, path);
    if (!Array.isArray(value)) return value !== undefined && accepted.has(value);
    let elements = this.#elements.get(value);
    if (!elements) this.#elements.set(value, (elements = new Values(value)));
    return !elements.isDisjointFrom(accepted);
  }

  /** The value at the key of that very name, else along the names between the dots. */
  #at(field: string, path: readonly string[]): Json | undefined {
    if (Object.hasOwn(this.#data, field)) return this.#data[field];
    let value: Json | undefined = this.#data;
    for (const name of path) {
      if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
      value = value[name];
    }
    return value;
  }
}
