/** Which fields a value can have, as far as that is known before a run. */
import type { Json } from "../../lib/json/json.ts";
import { isObject } from "../../lib/json/json.ts";
import { propertiesOf } from "../form/form.ts";

/**
 * `any`: nothing is known. `never`: no value arrives here. `context`: the run's context as it was, during the first walk, which
 * collects what the tasks export.
 */
export type Shape = Fields | "any" | "never" | "context";

/** An object that has no other fields; it may lack some of them. */
export type Fields = { readonly fields: ReadonlyMap<string, Shape> };

export const isFields = (shape: Shape): shape is Fields => typeof shape === "object";

export const fieldsOf = (fields: Record<string, Shape>): Fields => ({ fields: new Map(Object.entries(fields)) });

/** Beyond these, nothing is known: a text of 256 KiB can describe objects of objects that take seconds to compare. */
const MAX_FIELDS = 500;
const MAX_STEPS = 300_000;

export class Shapes {
  #left = MAX_STEPS;

  /** The shape of an object with these fields. */
  object(fields: Map<string, Shape>): Shape {
    this.#left -= fields.size;
    if (fields.size > MAX_FIELDS) return "any";
    for (const [name, shape] of fields) if (!isFields(shape)) fields.set(name, "any");
    return { fields };
  }

  /** The shape of a value that is one or the other, or of two objects merged. */
  union(one: Shape, other: Shape): Shape {
    if (one === other || other === "never") return one;
    if (one === "never") return other;
    if (one === "any" || other === "any") return "any";
    if (one === "context") return other;
    if (other === "context") return one;
    this.#left -= one.fields.size;
    if (this.#left < 0) return "any";
    const fields = new Map(one.fields);
    for (const [name, shape] of other.fields) {
      const before = fields.get(name);
      fields.set(name, before === undefined ? shape : this.union(before, shape));
    }
    return this.object(fields);
  }
}

/** The shape of an input that passed the form, which refuses every other key. */
export function shapeOfForm(form: Json | undefined): Shape {
  if (!isObject(form)) return "any";
  return { fields: new Map(Object.keys(propertiesOf(form)).map((name) => [name, "any"])) };
}

const MOMENT = fieldsOf({ iso8601: "any", epoch: fieldsOf({ seconds: "any", milliseconds: "any" }) });

export const ERROR = fieldsOf({
  type: "any",
  status: "any",
  title: "any",
  detail: "any",
  instance: "any",
  response: fieldsOf({ status: "any", headers: "any", body: "any" }),
});
export const TASK = fieldsOf({ name: "any", reference: "any", startedAt: MOMENT, attempt: "any" });
export const RUNTIME = fieldsOf({ name: "any", version: "any", metadata: "any", now: MOMENT });
export const RESPONSE = fieldsOf({
  request: fieldsOf({ method: "any", uri: "any", headers: "any" }),
  statusCode: "any",
  headers: "any",
  content: "any",
});

export const shapeOfWorkflow = (input: Shape): Shape =>
  fieldsOf({ id: "any", definition: "any", input, startedAt: MOMENT });

export const shapeOfDecision = (answer: Shape): Shape =>
  fieldsOf({ approved: "any", comment: "any", answer, decidedBy: "any", decidedAt: "any" });
