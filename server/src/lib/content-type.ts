/** What a `Content-Type` says: the kind of a body, and the charset of its text (WHATWG MIME Sniffing). */

/** Type and subtype in lower case, without parameters; empty if there is none. */
export const mediaTypeOf = (contentType: string | undefined): string =>
  /^\s*([^\s;,]*)/.exec(contentType ?? "")![1]!.toLowerCase();

/** What the standard calls a JSON MIME type. */
export const isJson = (mediaType: string): boolean => /^(?:application|text)\/json$|^[^/]*\/.+\+json$/.test(mediaType);
export const isXml = (mediaType: string): boolean => /^(?:application|text)\/xml$|^[^/]*\/.+\+xml$/.test(mediaType);
export const isForm = (mediaType: string): boolean => mediaType === "application/x-www-form-urlencoded";
export const isMultipart = (mediaType: string): boolean => mediaType.startsWith("multipart/");
/** Bodies of these are text, whatever bytes they contain. */
export const isText = (mediaType: string): boolean =>
  mediaType.startsWith("text/") || isJson(mediaType) || isXml(mediaType) || isForm(mediaType);

/** A name with its value, which may be in quotes. Linear: each match begins at a semicolon and reads on. */
const PARAMETER = /;\s*([^\s;="]+)=(?:"((?:[^"\\]|\\.)*)"?|([^;,]*))/g;

/** The label after `charset`, the first one if there are several. */
export function charsetIn(contentType: string | undefined): string | undefined {
  for (const [, name, quoted, plain] of (contentType ?? "").matchAll(PARAMETER)) {
    if (name!.toLowerCase() === "charset") return (quoted?.replaceAll(/\\(.)/g, "$1") ?? plain!).trim();
  }
  return undefined;
}
