/**
 * Reads a `Content-Type` (RFC 9110, 8.3; WHATWG MIME Sniffing). A request's is read strictly: what is no media type is
 * refused. An answer's is read as far as it can be, as browsers do.
 */

/** `essence`: type and subtype in lower case. The names of parameters are in lower case, their values as written. */
export type MediaType = { essence: string; parameters: ReadonlyMap<string, string> };

const TOKEN = "[\\w!#$%&'*+.^`|~-]+";
const ESSENCE = new RegExp(`^\\s*(${TOKEN}/${TOKEN})\\s*(?:;|$)`);
/** The next parameter, or nothing between two semicolons. Each part can be read in one way only. */
const NEXT_PARAMETER = new RegExp(`;\\s*(?:(${TOKEN})=(?:"((?:[^"\\\\]|\\\\.)*)"|(${TOKEN}))\\s*)?(?=;|$)`, "y");

/** Reads it strictly. Undefined if it is no media type. The first of two parameters with one name counts, as in browsers. */
export function readMediaType(text: string): MediaType | undefined {
  const essence = ESSENCE.exec(text)?.[1];
  if (essence === undefined) return undefined;
  const parameters = new Map<string, string>();
  let at = text.indexOf(";");
  while (at >= 0 && at < text.length) {
    NEXT_PARAMETER.lastIndex = at;
    const found = NEXT_PARAMETER.exec(text);
    if (!found) return undefined;
    const [, name, quoted, plain] = found;
    const key = name?.toLowerCase();
    if (key !== undefined && !parameters.has(key)) parameters.set(key, plain ?? quoted!.replace(/\\(.)/g, "$1"));
    at = NEXT_PARAMETER.lastIndex;
  }
  return { essence: essence.toLowerCase(), parameters };
}

/** The charset that it names, if that is not UTF-8. Without one, JSON and forms are in UTF-8. */
export function foreignCharset({ parameters }: MediaType): string | undefined {
  const charset = parameters.get("charset");
  return charset === undefined || isUtf8Label(charset) ? undefined : charset;
}

export const isUtf8Label = (charset: string): boolean => /^utf-?8$/i.test(charset);

/** Type and subtype in lower case, whatever follows them; empty if there is none. */
export const essenceOf = (contentType: string | undefined): string =>
  /^\s*([^\s;,]*)/.exec(contentType ?? "")![1]!.toLowerCase();

/** A name with its value, which may be in quotes. Linear: each match begins at a semicolon and reads on. */
const PARAMETER = /;\s*([^\s;="]+)=(?:"((?:[^"\\]|\\.)*)"?|([^;,]*))/g;

/** The label after `charset`, the first one if there are several. */
export function charsetIn(contentType: string | undefined): string | undefined {
  // `matchAll` compiles a copy of the expression each time: 2 µs for the many types without a parameter.
  if (contentType === undefined || !contentType.includes(";")) return undefined;
  for (const [, name, quoted, plain] of contentType.matchAll(PARAMETER)) {
    if (name!.toLowerCase() === "charset") return (quoted?.replaceAll(/\\(.)/g, "$1") ?? plain!).trim();
  }
  return undefined;
}

/** JSON under any name: `application/json`, `text/json`, `application/hal+json`. */
export const isJson = (essence: string): boolean => /^(?:application|text)\/json$|^[^/]*\/.+\+json$/.test(essence);
export const isXml = (essence: string): boolean => /^(?:application|text)\/xml$|^[^/]*\/.+\+xml$/.test(essence);
export const FORM_TYPE = "application/x-www-form-urlencoded";
export const isForm = (essence: string): boolean => essence === FORM_TYPE;
export const isMultipart = (essence: string): boolean => essence.startsWith("multipart/");
/** Bodies of these are text, whatever bytes they contain. */
export const isText = (essence: string): boolean =>
  essence.startsWith("text/") || isJson(essence) || isXml(essence) || isForm(essence);
