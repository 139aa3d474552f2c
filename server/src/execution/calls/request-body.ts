/** Encodes the body of a request. What can't be sent was refused before (definition/tasks/http-body.ts). */
import { contentTypeOf } from "../../definition/tasks/http-body.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import { charsetIn, essenceOf, isForm, isUtf8Label } from "../../lib/media-type.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";

type Body = { text: string; contentType: string };

/**
 * A text as it is, an object of a form's type as a form, anything else as JSON. Undefined for null: the request has no body. Throws
 * a `validation` error.
 */
export function encodeBody(body: Json | undefined, headers: Json | undefined): Body | undefined {
  if (body === undefined || body === null) return undefined;
  const given = contentTypeOf(headers);
  const contentType = given ?? (typeof body === "string" ? "text/plain; charset=utf-8" : "application/json");
  const text = textOf(body, contentType);
  checkCharset(text, charsetIn(contentType));
  return { text, contentType };
}

function textOf(body: Json, contentType: string): string {
  if (typeof body === "string") return body;
  return isObject(body) && isForm(essenceOf(contentType)) ? formOf(body) : JSON.stringify(body);
}

/** A list repeats its field for each item. A field of null is left out, like a query parameter. */
function formOf(fields: JsonObject): string {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    for (const item of Array.isArray(value) ? value : [value]) if (item !== null) form.append(name, String(item));
  }
  return form.toString();
}

const NOT_ASCII = /[^\0-\x7f]/;

/** Bodies are sent in UTF-8: under another label the receiver would misread them. */
function checkCharset(text: string, label: string | undefined): void {
  if (label === undefined || isUtf8Label(label) || !NOT_ASCII.test(text)) return;
  const message = `the body is sent in UTF-8, but its Content-Type says charset=${label.slice(0, 40)}, so nothing was sent; write charset=utf-8`;
  throw WorkflowError.of("validation", message);
}
