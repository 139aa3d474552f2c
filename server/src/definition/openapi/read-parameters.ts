/** Reads the parameters of an operation: its own, those of its path, and the keys of its security schemes. */
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { RESERVED_HEADERS } from "../../lib/reserved-headers.ts";
import {
  DocumentProblem,
  PLACES,
  STYLES,
  type ApiForm,
  type ApiParameter,
  type ApiPlace,
  type ApiStyle,
} from "./operation.ts";
import { entriesAt, listAt, own, textAt, type Found } from "./references.ts";

/** Throws DocumentProblem. */
export function readParameters(found: Found): ApiParameter[] {
  const { path, item, operation, references } = found;
  const read = new Map<string, ApiParameter>();
  const add = (parameter: ApiParameter): void => {
    read.set(`${parameter.in} ${parameter.name}`, parameter);
    if (read.size > LIMITS.openapiParameters)
      throw new DocumentProblem(`has an operation with more than ${LIMITS.openapiParameters} parameters`);
  };
  for (const written of [...listAt(item, "parameters"), ...listAt(operation, "parameters")]) {
    const parameter = references.resolve(written);
    const place = textAt(parameter, "in") as ApiPlace | undefined;
    // Bodies and forms of version 2.0 are read as a body.
    if (parameter && place && PLACES.includes(place)) add(parameterOf(parameter, place, found));
  }
  for (const [, name] of path.matchAll(/\{([^{}]*)\}/g))
    if (!read.has(`path ${name}`)) add({ name: name!, in: "path", required: true, ...SIMPLE });
  for (const key of keysOf(found)) if (!read.has(`${key.in} ${key.name}`)) add(key);
  return [...read.values()];
}

const SIMPLE: ApiForm = { style: "simple", explode: false, isReserved: false };
const FORM: ApiForm = { style: "form", explode: true, isReserved: false };

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$/;

function parameterOf(parameter: JsonObject, place: ApiPlace, { isSwagger, references }: Found): ApiParameter {
  const name = nameOf(parameter, place);
  const required = place === "path" || own(parameter, "required") === true;
  if (isSwagger) return { name, in: place, required, ...formOfSwagger(parameter, place) };
  const isJson = entriesAt(parameter, "content").length > 0;
  const usual = place === "query" || place === "cookie" ? "form" : "simple";
  const form = isJson
    ? { ...SIMPLE, style: "json" as const }
    : formOf(parameter, usual, isObjectIn(references.resolve(own(parameter, "schema"))));
  return { name, in: place, required, ...form };
}

const isObjectIn = (schema: JsonObject | undefined): boolean => own(schema, "type") === "object";

function nameOf(parameter: JsonObject, place: ApiPlace): string {
  const name = textAt(parameter, "name") ?? "";
  if (name === "" || name.length > LIMITS.openapiNameCharacters || !name.isWellFormed())
    throw new DocumentProblem(`has a parameter in ${place} without a name, or with one that is too long`);
  if ((place === "header" || place === "cookie") && !TOKEN.test(name))
    throw new DocumentProblem(`has a parameter ${JSON.stringify(name)} in ${place}, which is no name of a ${place}`);
  if (place === "header" && RESERVED_HEADERS.has(name.toLowerCase()))
    throw new DocumentProblem(`has the header ${name} as a parameter, which is set by the call itself`);
  return name;
}

/** Reads `style`, `explode` and `allowReserved`. Throws DocumentProblem. */
export function formOf(written: Json, usual: ApiStyle, isDeep = false): ApiForm {
  const given = textAt(written, "style") as ApiStyle | undefined;
  const style = given ?? usual;
  if (!STYLES.includes(style) || style === "json")
    throw new DocumentProblem(`has a parameter of the style ${JSON.stringify(style.slice(0, 100))}`);
  const explode = own(written, "explode");
  return {
    style,
    explode: typeof explode === "boolean" ? explode : style === "form" || (isDeep && style === "deepObject"),
    isReserved: own(written, "allowReserved") === true,
  };
}

const OF_COLLECTIONS = new Map<string, ApiForm>([
  ["csv", { ...FORM, explode: false }],
  ["multi", FORM],
  ["ssv", { ...FORM, style: "spaceDelimited", explode: false }],
  ["pipes", { ...FORM, style: "pipeDelimited", explode: false }],
]);

/** The `collectionFormat` of version 2.0. */
export function formOfSwagger(parameter: Json, place: ApiPlace | "formData"): ApiForm {
  const given = textAt(parameter, "collectionFormat") ?? "csv";
  const form = OF_COLLECTIONS.get(given);
  const isOneText = place === "path" || place === "header";
  if (!form || (isOneText && given !== "csv"))
    throw new DocumentProblem(
      `has a parameter of the collectionFormat ${JSON.stringify(given.slice(0, 100))} in ${place}`,
    );
  return isOneText ? SIMPLE : form;
}

/** Keys of the security schemes that the operation names: an author gives them as parameters. */
function keysOf({ operation, references, isSwagger }: Found): ApiParameter[] {
  const { root } = references;
  const wanted = own(operation, "security") === undefined ? listAt(root, "security") : listAt(operation, "security");
  const schemes = isSwagger ? own(root, "securityDefinitions") : own(own(root, "components"), "securitySchemes");
  const names = new Set(wanted.flatMap((one) => (isObject(one) ? Object.keys(one) : [])));
  return [...names].slice(0, LIMITS.openapiParameters).flatMap((name) => {
    const scheme = references.resolve(own(schemes, name));
    const place = textAt(scheme, "in") as ApiPlace | undefined;
    if (!scheme || textAt(scheme, "type") !== "apiKey" || !place || !PLACES.includes(place)) return [];
    return [{ name: nameOf(scheme, place), in: place, required: false, ...(place === "header" ? SIMPLE : FORM) }];
  });
}
