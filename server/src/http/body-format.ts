/** Checks what a request says of its body: a media type with any parameters, in UTF-8, not compressed. */
import type { IncomingHttpHeaders } from "node:http";
import { shortened } from "../lib/errors.ts";
import { foreignCharset, FORM_TYPE, isForm, isJson, readMediaType } from "../lib/media-type.ts";
import { Misfit } from "./http-refusal.ts";

/** What a body may be. `wanted` names it in a sentence. */
export type Taken = { isTaken: (essence: string) => boolean; wanted: string };

/** JSON under any name. */
export const JSON_BODY: Taken = { isTaken: isJson, wanted: "application/json" };

/** JSON or what a form sends. */
export const JSON_OR_FORM: Taken = {
  isTaken: (essence) => isJson(essence) || isForm(essence),
  wanted: `application/json or ${FORM_TYPE}`,
};

/** Returns the type without its parameters. Throws Misfit, 415. */
export function checkContentType(headers: IncomingHttpHeaders, { isTaken, wanted }: Taken): string {
  const { "content-encoding": encoding, "content-type": text = "" } = headers;
  if (encoding !== undefined && encoding.toLowerCase() !== "identity")
    throw new Misfit(415, `the body must not be compressed: leave out Content-Encoding: ${shortened(encoding)}`);
  const type = readMediaType(text);
  if (!type || !isTaken(type.essence)) throw new Misfit(415, `the Content-Type must be ${wanted}, in UTF-8`);
  const charset = foreignCharset(type);
  if (charset !== undefined)
    throw new Misfit(415, `the Content-Type says charset=${shortened(charset)}: send the body in UTF-8`);
  return type.essence;
}
