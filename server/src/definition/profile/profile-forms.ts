/**
 * The schemas an author may write: the form (the run's input, an approval's answer) is one flat object; a schema elsewhere
 * is any JSON Schema without parts of unbounded cost (`pattern`, references).
 */
import { LIMITS } from "../../lib/limits.ts";
import { boolean, fixed, list, object, ref, refused, text, type Properties } from "../schema/schema-words.ts";
import { REFUSED } from "../schema/refusals.ts";
import type { SchemaObject } from "../schema/schema-walk.ts";

const amount: SchemaObject = { type: "integer", minimum: 0, "x-say": "write a whole number from 0" };
const number: SchemaObject = { type: "number" };
const ABOUT: Properties = {
  title: text({ maxLength: LIMITS.nameCharacters }),
  description: text({ maxLength: LIMITS.descriptionCharacters }),
};

const choice = list(text({ maxLength: LIMITS.nameCharacters }), {
  minItems: 1,
  maxItems: LIMITS.formChoices,
  uniqueItems: true,
});
const titledChoice = list(
  object(
    "a choice",
    { const: text({ maxLength: LIMITS.nameCharacters }), title: text({ maxLength: LIMITS.nameCharacters }) },
    ["const"],
  ),
  {
    minItems: 1,
    maxItems: LIMITS.formChoices,
  },
);

/** A choice, a format or a length says it better than a regular expression. */
const TEXT: Properties = {
  minLength: amount,
  maxLength: amount,
  format: fixed(["date"]),
  enum: choice,
  oneOf: titledChoice,
  pattern: refused(REFUSED.pattern),
};
const NUMBER: Properties = {
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  multipleOf: { type: "number", exclusiveMinimum: 0 },
};

const field = (type: string, properties: Properties, required: string[] = ["type"]): SchemaObject =>
  object(`a field of type ${type}`, { type: { const: type }, ...ABOUT, default: true, ...properties }, required);

/** The choices of a field say that it is a text, so that its type may be left out. */
const choiceOf = (choices: "enum" | "oneOf", what: string, properties: Properties): SchemaObject =>
  object(what, { ...ABOUT, ...properties }, [choices]);

const ITEM: Properties = { ...TEXT, format: refused("a list has no dates; leave format out") };
const ITEMS: SchemaObject = {
  type: "object",
  "x-choose": "key",
  "x-say": "write type: string, or the choices as enum or oneOf",
  oneOf: [
    object("items", { type: { const: "string" }, ...ABOUT, ...ITEM }, ["type"]),
    choiceOf("enum", "items", ITEM),
    choiceOf("oneOf", "items", ITEM),
  ],
};

export const FORM_SCHEMAS: Record<string, SchemaObject> = {
  form: {
    ...object("the form", {
      $schema: text(),
      type: fixed(["object"]),
      ...ABOUT,
      properties: {
        type: "object",
        maxProperties: LIMITS.formFields,
        propertyNames: ref("fieldName"),
        additionalProperties: ref("field"),
      },
      required: list(text(), { uniqueItems: true }),
      additionalProperties: { const: false, "x-say": "leave it out: a form takes its own fields only" },
    }),
    "x-value": "form",
  },
  fieldName: {
    type: "string",
    pattern: `^(?!(constructor|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|toLocaleString|toString|valueOf|__\\w+__)$)[A-Za-z_]\\w{0,${LIMITS.fieldNameCharacters - 1}}$`,
    "x-say": `write 1 to ${LIMITS.fieldNameCharacters} letters, digits and underscores, not a word such as constructor`,
  },
  field: {
    type: "object",
    "x-choose": "key",
    "x-say": "write its type: string, number, integer, boolean or array, or the choices of a text as enum or oneOf",
    oneOf: [
      { required: ["type"], ...ref("typedField") },
      choiceOf("enum", "a choice", { default: true, ...TEXT }),
      choiceOf("oneOf", "a choice", { default: true, ...TEXT }),
    ],
  },
  typedField: {
    type: "object",
    required: ["type"],
    "x-choose": { property: "type" },
    "x-say": "the type of a field is one of string, number, integer, boolean, array",
    oneOf: [
      field("string", TEXT),
      field("number", NUMBER),
      field("integer", NUMBER),
      field("boolean", {}),
      field("array", { items: ITEMS, minItems: amount, maxItems: amount, uniqueItems: boolean }, ["type", "items"]),
    ],
  },
  schema: {
    type: ["object", "boolean"],
    "x-choose": "type",
    oneOf: [boolean, schemaObject()],
  },
};

function schemaObject(): SchemaObject {
  const schema = ref("schema");
  const schemas = list(schema, { minItems: 1 });
  const types = ["string", "number", "integer", "boolean", "object", "array", "null"];
  return object("a schema", {
    $schema: text(),
    title: text(),
    description: text(),
    default: true,
    examples: true,
    type: {
      type: ["string", "array"],
      "x-choose": "type",
      oneOf: [fixed(types), list(fixed(types), { minItems: 1, uniqueItems: true })],
    },
    enum: list(true, { minItems: 1 }),
    const: true,
    properties: { type: "object", additionalProperties: schema },
    required: list(text(), { uniqueItems: true }),
    additionalProperties: schema,
    minProperties: amount,
    maxProperties: amount,
    items: schema,
    minItems: amount,
    maxItems: amount,
    uniqueItems: boolean,
    minLength: amount,
    maxLength: amount,
    format: fixed(["date", "date-time"]),
    ...NUMBER,
    allOf: schemas,
    anyOf: schemas,
    oneOf: schemas,
    not: schema,
    pattern: refused(REFUSED.pattern),
    patternProperties: refused(REFUSED.pattern),
    $ref: refused(REFUSED.reference),
    $dynamicRef: refused(REFUSED.reference),
    $defs: refused(REFUSED.reference),
  });
}
