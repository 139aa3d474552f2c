/** A media type with its parameters, as the header `Content-Type` has it (RFC 9110, 8.3). */

/** `essence`: type and subtype in lower case. The names of parameters are in lower case, their values as written. */
export type MediaType = { essence: string; parameters: ReadonlyMap<string, string> };

const TOKEN = "[\\w!#$%&'*+.^`|~-]+";
const ESSENCE = new RegExp(`^\\s*(${TOKEN}/${TOKEN})\\s*(?:;|$)`);
/** The next parameter, or nothing between two semicolons. Each part can be read in one way only. */
const PARAMETER = new RegExp(`;\\s*(?:(${TOKEN})=(?:"((?:[^"\\\\]|\\\\.)*)"|(${TOKEN}))\\s*)?(?=;|$)`, "y");

/** Undefined for a text that is none. The first of two parameters with one name counts, as browsers have it. */
export function readMediaType(text: string): MediaType | undefined {
  const essence = ESSENCE.exec(text)?.[1];
  if (essence === undefined) return undefined;
  const parameters = new Map<string, string>();
  let at = text.indexOf(";");
  while (at >= 0 && at < text.length) {
    PARAMETER.lastIndex = at;
    const found = PARAMETER.exec(text);
    if (!found) return undefined;
    const [, name, quoted, plain] = found;
    const key = name?.toLowerCase();
    if (key !== undefined && !parameters.has(key)) parameters.set(key, plain ?? quoted!.replace(/\\(.)/g, "$1"));
    at = PARAMETER.lastIndex;
  }
  return { essence: essence.toLowerCase(), parameters };
}

/** JSON under any name (WHATWG MIME Sniffing, "JSON MIME type"): `application/json`, `text/json`, `application/hal+json`. */
export const isJsonType = ({ essence }: MediaType): boolean =>
  essence === "application/json" || essence === "text/json" || essence.endsWith("+json");

/** The charset that it names, if that is not UTF-8. Without one, JSON and forms are in UTF-8. */
export function foreignCharset({ parameters }: MediaType): string | undefined {
  const charset = parameters.get("charset");
  return charset === undefined || /^utf-?8$/i.test(charset) ? undefined : charset;
}
