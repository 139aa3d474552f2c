/** Reads the body of an operation: its media types, and which fields its object has. */
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { essenceOf, FORM_TYPE, isForm, isJson, isMultipart, isText } from "../../lib/media-type.ts";
import { DocumentProblem, type ApiBody, type ApiContent, type ApiForm } from "./operation.ts";
import { formOf, formOfSwagger } from "./read-parameters.ts";
import { entriesAt, listAt, own, textAt, type Found, type References } from "./references.ts";

/** The body of an operation of version 3. Throws DocumentProblem. */
export function readBody({ operation, references }: Found): ApiBody | null {
  const body = references.resolve(own(operation, "requestBody"));
  if (!body) return null;
  const contents = inOrder(
    entriesAt(body, "content").map(([type, media]) => {
      const properties = propertiesOf(own(references.resolve(media), "schema"), references);
      const encoding = isForm(essenceOf(type)) ? encodingOf(references.resolve(media)) : [];
      return { type, properties, encoding };
    }),
  );
  return { required: own(body, "required") === true, name: null, contents };
}

/** The body in version 2.0: a parameter in `body`, or those in `formData`. Throws DocumentProblem. */
export function readFormBody({ item, operation, references }: Found): ApiBody | null {
  const given = [...listAt(operation, "parameters"), ...listAt(item, "parameters")].flatMap(
    (one) => references.resolve(one) ?? [],
  );
  const consumes = [operation, references.root].map((one) => listAt(one, "consumes")).find((list) => list.length > 0);
  const types = (consumes ?? []).filter((type) => typeof type === "string");
  const body = given.find((one) => textAt(one, "in") === "body");
  if (body) {
    const properties = propertiesOf(own(body, "schema"), references);
    const contents = (types.length > 0 ? types : ["application/json"]).map((type) => ({
      type,
      properties,
      encoding: [],
    }));
    return {
      required: own(body, "required") === true,
      name: textAt(body, "name") ?? null,
      contents: inOrder(contents),
    };
  }
  const fields = given.filter((one) => textAt(one, "in") === "formData");
  if (fields.length === 0) return null;
  const encoding = fields.map((one) => ({ name: textAt(one, "name") ?? "", ...formOfSwagger(one, "formData") }));
  const fitting = types.filter((type) => isForm(essenceOf(type)) || isMultipart(essenceOf(type)));
  const properties = limited(encoding.map(({ name }) => name));
  return {
    required: fields.some((one) => own(one, "required") === true),
    name: null,
    contents: inOrder((fitting.length > 0 ? fitting : [FORM_TYPE]).map((type) => ({ type, properties, encoding }))),
  };
}

/** JSON, then forms, then texts: what can be sent, in the order of preference. */
const RANKS: readonly ((essence: string) => boolean)[] = [isJson, isForm, (essence) => essence === "*/*", isText];

function inOrder(contents: ApiContent[]): ApiContent[] {
  const fit = contents.filter(({ type }) => RANKS.some((rank) => rank(essenceOf(type))));
  if (fit.length === 0 && contents.length > 0) {
    const types = contents
      .map(({ type }) => type)
      .join(", ")
      .slice(0, 200);
    throw new DocumentProblem(`has a body of ${types}, and JSON, forms and texts can be sent; use call: http`);
  }
  const rankOf = ({ type }: ApiContent): number => RANKS.findIndex((rank) => rank(essenceOf(type)));
  return fit.toSorted((one, other) => rankOf(one) - rankOf(other)).slice(0, MAX_CONTENTS);
}

const MAX_CONTENTS = 8;

/** OpenAPI writes a form's fields like a query's, but for lists and objects that say otherwise. */
function encodingOf(media: JsonObject | undefined): (ApiForm & { name: string })[] {
  return entriesAt(media, "encoding").map(([name, encoding]) => {
    const isStyled = own(encoding, "style") !== undefined || own(encoding, "explode") !== undefined;
    const isWritten = !isStyled && isJson(essenceOf(textAt(encoding, "contentType")));
    const form = formOf(encoding, "form", true);
    return { name, ...form, ...(isWritten && { style: "json" as const }) };
  });
}

/** Schemas that are put together. */
const MAX_SCHEMAS = 200;

/** The fields of an object, of all parts that it is put together from. Null: it may have any, or is no object. */
function propertiesOf(schema: Json | undefined, references: References): string[] | null {
  const names = new Set<string>();
  const seen = new Set<JsonObject>();
  let isOpen = false;
  const add = (written: Json | undefined): void => {
    const one = references.resolve(written);
    if (!one || seen.has(one)) return;
    seen.add(one);
    if (seen.size > MAX_SCHEMAS) isOpen = true;
    if (isOpen) return;
    for (const [name] of entriesAt(one, "properties")) names.add(name);
    const more = own(one, "additionalProperties");
    const isMap = more === true || isObject(more) || entriesAt(one, "patternProperties").length > 0;
    const parts = ["allOf", "oneOf", "anyOf"].flatMap((key) => listAt(one, key));
    if (isMap || (own(one, "properties") === undefined && parts.length === 0)) isOpen = true;
    for (const part of parts) add(part);
  };
  add(schema);
  return isOpen || names.size === 0 ? null : limited([...names]);
}

/** With more of them, any is taken. */
const limited = (names: string[]): string[] | null => (names.length > LIMITS.openapiParameters ? null : names);
