/** The format of every body: a media type that the route takes, in UTF-8, not compressed; and JSON, if the type says so. */
import type { IncomingHttpHeaders } from "node:http";
import { Refusal, shortened } from "../lib/errors.ts";
import { parseJson, type Json } from "../lib/json/json.ts";
import { foreignCharset, FORM_TYPE, isForm, isJson, readMediaType } from "../lib/media-type.ts";
import { HttpRefusal } from "./http-refusal.ts";

/** The formats that a body may have. `wanted` names them in a sentence. */
export type Taken = { isTaken: (essence: string) => boolean; wanted: string };

/** JSON under any name. */
export const JSON_BODY: Taken = { isTaken: isJson, wanted: "application/json" };

/** JSON or what a form sends. */
export const JSON_OR_FORM: Taken = {
  isTaken: (essence) => isJson(essence) || isForm(essence),
  wanted: `application/json or ${FORM_TYPE}`,
};

/** Returns the type without its parameters. Throws HttpRefusal, 415. */
export function checkContentType(headers: IncomingHttpHeaders, { isTaken, wanted }: Taken): string {
  const { "content-encoding": encoding, "content-type": text = "" } = headers;
  if (encoding !== undefined && encoding.toLowerCase() !== "identity")
    throw new HttpRefusal(415, `the body must not be compressed: leave out Content-Encoding: ${shortened(encoding)}`);
  const type = readMediaType(text);
  if (!type || !isTaken(type.essence)) throw new HttpRefusal(415, `the Content-Type must be ${wanted}, in UTF-8`);
  const charset = foreignCharset(type);
  if (charset !== undefined)
    throw new HttpRefusal(415, `the Content-Type says charset=${shortened(charset)}: send the body in UTF-8`);
  return type.essence;
}

/** Throws BAD_REQUEST. */
export function parseJsonBody(text: string): Json {
  try {
    return parseJson(text, "the request body");
  } catch (error) {
    throw error instanceof Refusal ? new Refusal("BAD_REQUEST", error.message) : error;
  }
}
