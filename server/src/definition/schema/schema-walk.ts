/**
 * Validates by the part of JSON Schema (draft 2020-12) that the profile uses and definitions may contain, with a budget of
 * steps: no author's schema can block the process (authors may write neither `pattern` nor references). A differential test
 * compares it with @cfworker/json-schema.
 */
import { LIMITS } from "../../lib/limits.ts";
import { compareNumbers, ExactNumber, exactKey, isMultiple, isWhole, plainZero } from "../../lib/json/exact-number.ts";
import { isNumber, isObject, isScalar, type Json, type JsonObject } from "../../lib/json/json.ts";
import { codePointsIn } from "../../lib/text.ts";
import { isCalendarDate, isDateTime } from "../../lib/calendar.ts";
import type { Path } from "../text/problem.ts";

export type Schema = boolean | SchemaObject;
export type SchemaObject = {
  [keyword: string]: unknown;
  $ref?: string;
  type?: string | string[];
  enum?: Json[];
  const?: Json;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema;
  propertyNames?: SchemaObject;
  items?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  not?: Schema;
  pattern?: string;
  format?: string;
  /** Ours: which branch of `oneOf` is meant, so that a mistake is reported for that branch alone. */
  "x-choose"?: "type" | "key" | { property: string };
  /** Ours: what the value means, for the linter (linter.ts). */
  "x-value"?: string;
};

export type Violation = {
  path: Path;
  at: "key" | "value";
  keyword: string;
  schema: SchemaObject;
  value: Json;
  key?: string;
};
type Visit = (path: Path, value: Json, means: string) => void;

/** Thrown when the budget is used up. */
export class TooCostly extends Error {}

export class SchemaWalk {
  readonly violations: Violation[] = [];
  readonly #root: SchemaObject;
  readonly #most: number;
  readonly #visit: Visit | undefined;
  #path: (string | number)[] = [];
  #steps: { left: number };

  /** Stops collecting at `most` violations; `visit` is called for each value that an `x-value` schema describes. */
  constructor(root: SchemaObject, options: { most?: number; visit?: Visit; steps?: number } = {}) {
    this.#root = root;
    this.#most = options.most ?? LIMITS.definitionProblems;
    this.#visit = options.visit;
    this.#steps = { left: options.steps ?? LIMITS.schemaSteps };
  }

  /** Throws TooCostly. */
  check(value: Json): this {
    this.#walk(this.#root, value);
    return this;
  }

  #walk(given: Schema, value: Json): void {
    if (this.violations.length >= this.#most) return;
    this.#spend(1);
    const schema = this.#resolve(given);
    if (schema === true) return;
    if (schema === false) return this.#fail("false", {}, value);
    if (!this.#isOfType(schema, value)) return;
    const means = (given as SchemaObject)["x-value"] ?? schema["x-value"];
    if (means !== undefined) this.#visit?.([...this.#path], value, means);
    const before = this.violations.length;
    if (schema.enum && !schema.enum.some((one) => this.#equal(one, value))) this.#fail("enum", schema, value);
    if ("const" in schema && !this.#equal(schema.const, value)) this.#fail("const", schema, value);
    if (typeof value === "string") this.#text(schema, value);
    else if (isNumber(value)) this.#number(schema, value);
    else if (Array.isArray(value)) this.#list(schema, value);
    else if (isObject(value)) this.#object(schema, value);
    // A branch need not report again what is already reported.
    if (this.violations.length === before) this.#combined(schema, value);
  }

  #resolve(schema: Schema): Schema {
    let resolved = schema;
    while (typeof resolved === "object" && resolved.$ref !== undefined) {
      resolved = (this.#root["$defs"] as Record<string, Schema>)[resolved.$ref.slice("#/$defs/".length)]!;
    }
    return resolved;
  }

  #spend(steps: number): void {
    this.#steps.left -= steps;
    if (this.#steps.left < 0) throw new TooCostly();
  }

  #fail(keyword: string, schema: SchemaObject, value: Json, key?: string, at: "key" | "value" = "value"): void {
    const path = key === undefined ? [...this.#path] : [...this.#path, key];
    this.violations.push({ path, at, keyword, schema, value, ...(key === undefined ? {} : { key }) });
  }

  #isOfType(schema: SchemaObject, value: Json): boolean {
    if (schema.type === undefined) return true;
    const fits =
      typeof schema.type === "string" ? isOf(schema.type, value) : schema.type.some((type) => isOf(type, value));
    if (!fits) this.#fail("type", schema, value);
    return fits;
  }

  #text(schema: SchemaObject, value: string): void {
    const { minLength, maxLength, pattern, format } = schema as {
      minLength?: number;
      maxLength?: number;
      pattern?: string;
      format?: string;
    };
    if (minLength !== undefined || maxLength !== undefined) this.#spend(value.length >> 6);
    if (minLength !== undefined && value.length < 2 * minLength && codePointsIn(value) < minLength)
      this.#fail("minLength", schema, value);
    if (maxLength !== undefined && value.length > maxLength && codePointsIn(value) > maxLength)
      this.#fail("maxLength", schema, value);
    if (pattern !== undefined && !new RegExp(pattern, "u").test(value)) this.#fail("pattern", schema, value);
    if (format === "date" && !isCalendarDate(value)) this.#fail("format", schema, value);
    if (format === "date-time" && !isDateTime(value)) this.#fail("format", schema, value);
  }

  #number(schema: SchemaObject, value: number | ExactNumber): void {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema as Record<
      string,
      number | ExactNumber | undefined
    >;
    const compared = (limit: number | ExactNumber): number => {
      this.#spend(digitsIn(value) + digitsIn(limit));
      return compareNumbers(value, limit);
    };
    if (minimum !== undefined && compared(minimum) < 0) this.#fail("minimum", schema, value);
    if (maximum !== undefined && compared(maximum) > 0) this.#fail("maximum", schema, value);
    if (exclusiveMinimum !== undefined && compared(exclusiveMinimum) <= 0)
      this.#fail("exclusiveMinimum", schema, value);
    if (exclusiveMaximum !== undefined && compared(exclusiveMaximum) >= 0)
      this.#fail("exclusiveMaximum", schema, value);
    if (multipleOf === undefined) return;
    this.#spend(DIVISION * (1 + digitsIn(value) + digitsIn(multipleOf)));
    if (!isMultiple(value, multipleOf)) this.#fail("multipleOf", schema, value);
  }

  #list(schema: SchemaObject, value: Json[]): void {
    const { minItems, maxItems, uniqueItems } = schema as {
      minItems?: number;
      maxItems?: number;
      uniqueItems?: boolean;
    };
    if (minItems !== undefined && value.length < minItems) this.#fail("minItems", schema, value);
    if (maxItems !== undefined && value.length > maxItems) return this.#fail("maxItems", schema, value);
    if (uniqueItems === true && this.#hasEqual(value)) this.#fail("uniqueItems", schema, value);
    if (schema.items === undefined) return;
    for (let index = 0; index < value.length; index++) this.#child(schema.items, index, value[index]!);
  }

  #object(schema: SchemaObject, value: JsonObject): void {
    const keys = this.#keysOf(value);
    const { minProperties, maxProperties } = schema as { minProperties?: number; maxProperties?: number };
    if (minProperties !== undefined && keys.length < minProperties) return this.#fail("minProperties", schema, value);
    if (maxProperties !== undefined && keys.length > maxProperties) return this.#fail("maxProperties", schema, value);
    this.#spend(schema.required?.length ?? 0);
    for (const key of schema.required ?? []) {
      if (!Object.hasOwn(value, key)) this.#fail("required", schema, value, key);
    }
    for (const key of keys) this.#property(schema, key, value);
  }

  #property(schema: SchemaObject, key: string, value: JsonObject): void {
    const names = schema.propertyNames && (this.#resolve(schema.propertyNames) as SchemaObject);
    if (names && !this.#fits(names, key)) this.#fail("propertyNames", names, value, key, "key");
    const known = schema.properties && Object.hasOwn(schema.properties, key) ? schema.properties[key] : undefined;
    const found = known ?? schema.additionalProperties;
    if (found === undefined) return;
    if (found === false) this.#fail("additionalProperties", schema, value, key, "key");
    else this.#child(found, key, value[key]!);
  }

  #child(schema: Schema, key: string | number, value: Json): void {
    this.#path.push(key);
    this.#walk(schema, value);
    this.#path.pop();
  }

  #combined(schema: SchemaObject, value: Json): void {
    for (const one of schema.allOf ?? []) this.#walk(one, value);
    if (schema.anyOf && !schema.anyOf.some((one) => this.#fits(one, value))) this.#fail("anyOf", schema, value);
    if (schema.oneOf && schema["x-choose"] !== undefined) this.#walkMeant(schema, value);
    else if (schema.oneOf && schema.oneOf.filter((one) => this.#fits(one, value)).length !== 1)
      this.#fail("oneOf", schema, value);
    if (schema.not !== undefined && this.#fits(schema.not, value)) this.#fail("not", schema, value);
  }

  /** The branches exclude each other, so it is enough to walk the one that is meant. */
  #walkMeant(schema: SchemaObject, value: Json): void {
    const branch = schema.oneOf!.find((one) => {
      const resolved = this.#resolve(one) as SchemaObject;
      return isMeant(schema["x-choose"]!, { ...resolved, ...(one as SchemaObject) }, value);
    });
    if (branch !== undefined) this.#walk(branch, value);
    else if (!this.#isMissing(schema, value)) this.#fail("oneOf", schema, value);
  }

  /** `required` has already reported that the property that distinguishes the branches is missing. */
  #isMissing(schema: SchemaObject, value: Json): boolean {
    const choose = schema["x-choose"];
    return (
      typeof choose === "object" &&
      schema.required?.includes(choose.property) === true &&
      !Object.hasOwn(value as object, choose.property)
    );
  }

  #fits(schema: Schema, value: Json): boolean {
    const walk = new SchemaWalk(this.#root, { most: 1 });
    walk.#steps = this.#steps;
    walk.#walk(schema, value);
    return walk.violations.length === 0;
  }

  /** Thousands of schemas may visit the same object; listing 80,000 keys takes 30 ms, twice as long as that many steps. */
  #keysOf(value: JsonObject): string[] {
    const keys = Object.keys(value);
    this.#spend(2 * keys.length);
    return keys;
  }

  #equal(given: Json, wanted: Json): boolean {
    const [one, other] = [plainZero(given), plainZero(wanted)];
    this.#spend(typeof one === "string" && typeof other === "string" ? 1 + (one.length >> 6) : 1);
    if (one === other) return true;
    if (one instanceof ExactNumber) {
      this.#spend(digitsIn(one));
      return other instanceof ExactNumber && compareNumbers(one, other) === 0;
    }
    if (Array.isArray(one)) {
      return (
        Array.isArray(other) &&
        one.length === other.length &&
        one.every((item, index) => this.#equal(item, other[index]!))
      );
    }
    if (!isObject(one) || !isObject(other)) return false;
    const keys = this.#keysOf(one);
    return (
      keys.length === this.#keysOf(other).length &&
      keys.every((key) => Object.hasOwn(other, key) && this.#equal(one[key]!, other[key]!))
    );
  }

  #hasEqual(list: Json[]): boolean {
    const scalars = new Set<Json>();
    const exact = new Set<string>();
    const others: Json[] = [];
    for (const given of list) {
      const item = plainZero(given);
      this.#spend(1);
      if (item instanceof ExactNumber) {
        this.#spend(digitsIn(item));
        if (exact.size === exact.add(exactKey(item)).size) return true;
      } else if (isScalar(item)) {
        if (scalars.size === scalars.add(item).size) return true;
      } else {
        if (others.some((other) => this.#equal(other, item))) return true;
        others.push(item);
      }
    }
    return false;
  }
}

function isOf(type: string, value: Json): boolean {
  if (type === "integer") return isNumber(value) && isWhole(value);
  return type === typeOf(value);
}

export function typeOf(value: Json): string {
  if (value === null) return "null";
  if (value instanceof ExactNumber) return "number";
  return Array.isArray(value) ? "array" : typeof value;
}

function isMeant(choose: NonNullable<SchemaObject["x-choose"]>, branch: SchemaObject, value: Json): boolean {
  if (choose === "type") return typeof branch.type === "string" && isOf(branch.type, value);
  if (!isObject(value)) return false;
  if (choose === "key") return Object.hasOwn(value, branch.required![0]!);
  const property = branch.properties![choose.property] as SchemaObject;
  if (!Object.hasOwn(value, choose.property)) return false;
  const chosen = value[choose.property]!;
  if (property.pattern === undefined) return chosen === property.const;
  return typeof chosen === "string" && new RegExp(property.pattern, "u").test(chosen);
}

/** A division of two numbers, in steps: up to 2 µs beside what its digits take. */
const DIVISION = 10;

/** The steps that a number of many digits takes. */
const digitsIn = (value: number | ExactNumber): number =>
  typeof value === "number" ? 0 : 1 + (value.text.length >> 4);
