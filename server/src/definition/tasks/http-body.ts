/** Which bodies a call can send under which `Content-Type`. */
import { essenceOf, isForm, isMultipart, isXml } from "../../lib/media-type.ts";
import { isNumber, isObject, isScalar, type Json, type JsonObject } from "../../lib/json/json.ts";
import { isWhole } from "../rules/rules-expressions.ts";
import type { Path } from "../text/problem.ts";

/** `path` leads to it within the body. */
export type BodyProblem = { path: Path; message: string };

export const HALF_OF_A_PAIR = "contains half of a surrogate pair, which can't be sent";

/** The value of `Content-Type` among headers of any case. Undefined if missing or not text. */
export function contentTypeOf(headers: Json | undefined): string | undefined {
  const found = isObject(headers) && Object.entries(headers).find(([name]) => name.toLowerCase() === "content-type");
  return found && typeof found[1] === "string" ? found[1] : undefined;
}

/** Checks a body whose expressions are evaluated. */
export function bodyProblem(body: Json | undefined, contentType: string | undefined): BodyProblem | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === "string") return body.isWellFormed() ? undefined : { path: [], message: HALF_OF_A_PAIR };
  const essence = essenceOf(contentType);
  if (isMultipart(essence) || isXml(essence)) {
    return { path: [], message: `is ${described(body)}, which can't be sent as ${essence}; ${WRITE_TEXT}` };
  }
  if (!isForm(essence)) return undefined;
  return isObject(body) ? formProblem(body) : { path: [], message: `is ${described(body)}; ${FORM}` };
}

/** Checks a body as its author wrote it, as far as no expression decides. */
export function writtenBodyProblem(body: Json, headers: Json | undefined): BodyProblem | undefined {
  const contentType = contentTypeOf(headers);
  const isKnown = contentType !== undefined && !isWhole(contentType) && typeof body !== "string";
  return isKnown ? bodyProblem(body, contentType) : undefined;
}

const WRITE_TEXT = "write the body as text, or leave out the header and send JSON";
const FORM = "a form is sent from an object of texts, numbers, true and false, or lists of these";

const described = (value: Json): string =>
  Array.isArray(value) ? "a list" : isObject(value) ? "an object" : `a ${isNumber(value) ? "number" : typeof value}`;

function formProblem(fields: JsonObject): BodyProblem | undefined {
  for (const [name, value] of Object.entries(fields)) {
    if (!name.isWellFormed()) return { path: [], message: `has a name that ${HALF_OF_A_PAIR}` };
    for (const [index, item] of (Array.isArray(value) ? value : [value]).entries()) {
      const path = Array.isArray(value) ? [name, index] : [name];
      if (!isScalar(item)) {
        return { path, message: `is ${described(item)}; ${FORM}, and \`tojson\` makes a text of anything` };
      }
      if (typeof item === "string" && !item.isWellFormed()) return { path, message: HALF_OF_A_PAIR };
    }
  }
  return undefined;
}
