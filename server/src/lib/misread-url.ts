/**
 * Finds where a URL's parser (WHATWG) reads something else than is written. It trims spaces and control characters, removes tabs and line
 * breaks, takes `\` for `/` and `%2e` for a dot, and drops dot segments, so a value in a URL could lead the request elsewhere.
 */
import { domainToUnicode } from "node:url";
import { parseUrl } from "./parse-url.ts";

/** Which part is misread, and why: "the path has a backslash". */
export type Misreading = { part: "path" | "host" | "URL"; what: string };

/** Scheme, host, path and query of characters that every parser keeps; a dot or a `%2e` after a slash may be a dot segment. */
const PLAIN = /^https?:\/\/[\w.:@[\]-]+(?:\/[\w~!$&()*+,;=:@%./-]*)?(?:\?[\w~!$&()*+,;=:@%./?-]+)?$/;
const MAY_HAVE_DOT_SEGMENTS = /\/(?:\.|%2e)/i;

/** Undefined: it is read as written, or is no URL for HTTP. */
export function misreadingOf(text: string): Misreading | undefined {
  // Nearly every URL; parsing and comparing it takes 3 µs.
  if (PLAIN.test(text) && !MAY_HAVE_DOT_SEGMENTS.test(text)) return undefined;
  return comparedWithParsed(text);
}

function comparedWithParsed(text: string): Misreading | undefined {
  const url = parseUrl(text);
  if (!url || !/^https?:$/.test(url.protocol)) return undefined;
  const kept = keptOf(text);
  const { authority, path, query } = partsOf(kept);
  if (path.split(/[/\\]/).some((segment) => DOT_SEGMENT.test(segment))) return of("path", "the segment . or ..");
  if (kept !== text) return of("URL", "a tab, a line break, or a space or control character at an end");
  if (!authority) return of("URL", "more or fewer slashes than two after its scheme");
  if (path.includes("\\")) return of("path", "a backslash, which is read as a slash");
  if (!isHostOf(authority, url)) return of("host", "characters that are read as others");
  // Catches any difference that is not known.
  const isSame = encoded(path || "/") === encoded(url.pathname) && encoded(query) === encoded(url.search);
  return isSame ? undefined : of("URL", "something that is read as something else");
}

const of = (part: Misreading["part"], what: string): Misreading => ({ part, what });

const DOT_SEGMENT = /^(?:\.|%2e){1,2}$/i;

/** The part that the parser keeps. Not by a pattern: one that looks for the end is quadratic. */
function keptOf(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && text.charCodeAt(start) <= 0x20) start++;
  while (end > start && text.charCodeAt(end - 1) <= 0x20) end--;
  return text.slice(start, end).replaceAll(/[\t\n\r]/g, "");
}

type Parts = {
  /** Empty if it does not follow two slashes. */
  authority: string;
  path: string;
  query: string;
};

/** Divides a URL as RFC 3986 does, but a backslash ends the host, too. A lone `?` is no query. */
function partsOf(text: string): Parts {
  const whole = text.split("#", 1)[0]!;
  const question = whole.indexOf("?");
  const before = question < 0 ? whole : whole.slice(0, question);
  const query = question < 0 || question === whole.length - 1 ? "" : whole.slice(question);
  const start = /^https?:\/\//i.exec(before)?.[0].length;
  if (start === undefined) return { authority: "", path: before, query };
  const length = before.slice(start).search(/[/\\]/);
  const end = length < 0 ? before.length : start + length;
  return { authority: before.slice(start, end), path: before.slice(end), query };
}

/** Leaves an address as a number to the guard, which judges addresses, and a user to the call, which refuses it. */
function isHostOf(authority: string, url: URL): boolean {
  if (/^[\w.:@[\]-]*$/.test(authority)) return true;
  const host = authority.slice(authority.lastIndexOf("@") + 1).replace(/:\d*$/, "");
  return domainToUnicode(url.hostname) === host.toLowerCase().normalize("NFC");
}

/** Encodes what the parser encodes in a path or a query; what is encoded stays. */
const encoded = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/(?:[^!-~]|["'<>^`{|}])+/gu, (part) => encodeURIComponent(part).replaceAll("'", "%27"));
