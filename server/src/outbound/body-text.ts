/** The text of an answer's body, by its charset (WHATWG Encoding). */
import { isUtf8 } from "node:buffer";
import { charsetIn } from "../lib/media-type.ts";
import { OutboundError } from "./errors.ts";

/**
 * Labels that can't be decoded, although their bytes look like ASCII: those of the standard's encoding "replacement", and UTF-7,
 * which the standard leaves out.
 */
const UNREADABLE = new Set([
  "csiso2022kr",
  "hz-gb-2312",
  "iso-2022-cn",
  "iso-2022-cn-ext",
  "iso-2022-kr",
  "replacement",
  "utf-7",
]);

/**
 * The encoding of a body: that of its byte order mark, else that of its charset, else UTF-8. An unknown charset is ignored if the
 * body is UTF-8, as all of ASCII is. Undefined: the body can't be read as text without changing it.
 */
export function encodingOf(body: Uint8Array, contentType: string | undefined): string | undefined {
  const marked = markOf(body);
  if (marked) return marked;
  const label = charsetIn(contentType)?.toLowerCase();
  if (label === undefined || label === "" || label === "utf-8") return "utf-8";
  if (UNREADABLE.has(label)) return undefined;
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return isUtf8(body) ? "utf-8" : undefined;
  }
}

function markOf(body: Uint8Array): string | undefined {
  const [first, second] = [body[0], body[1]];
  if (first === 0xef && second === 0xbb && body[2] === 0xbf) return "utf-8";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return first === 0xff && second === 0xfe ? "utf-16le" : undefined;
}

/** For whole texts, which leave nothing in it. */
const UTF8 = new TextDecoder();

/** Without the byte order mark; bytes that mean nothing become U+FFFD. `isCut`: without a last character that is incomplete. */
export function decodeText(body: Uint8Array, encoding: string, isCut = false): string {
  if (encoding === "utf-8" && !isCut) return UTF8.decode(body);
  return new TextDecoder(encoding).decode(body, { stream: isCut });
}

/** Throws an OutboundError that names the charset. */
export function textIn({ body, headers }: { body: Uint8Array; headers: Record<string, string> }): string {
  const contentType = headers["content-type"];
  const encoding = encodingOf(body, contentType);
  if (encoding !== undefined) return decodeText(body, encoding);
  const label = charsetIn(contentType)!;
  // Not cut: the beginning of a secret may be too short to be recognised.
  const shown = label.length > LABEL_CHARACTERS ? "a charset" : `the charset ${JSON.stringify(label)},`;
  throw new OutboundError(
    "network",
    `the answer is text in ${shown} which can't be read; \`output: raw\` yields its bytes`,
  );
}

const LABEL_CHARACTERS = 40;
