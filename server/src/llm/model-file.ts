/** A file that a model is shown with a message: an image, a PDF, or a text. */
import { isUtf8 } from "node:buffer";
import { essenceOf, isText } from "../lib/media-type.ts";

/** The text of a file goes to the model as words, which every provider takes. */
export type ModelFile = { name: string | undefined } & ({ type: string; base64: string } | { text: string });

/** The types that all providers take, each known by how its bytes begin. */
const BEGINNINGS: readonly (readonly [type: string, beginning: RegExp])[] = [
  ["image/png", /^\x89PNG\r\n\x1a\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF[^]{4}WEBP/],
  ["application/pdf", /^%PDF-/],
];
const BEGINNING_BYTES = 16;
export const MODEL_FILE_TYPES = "PNG, JPEG, GIF and WebP images, PDF and text";

/** Types of files whose server does not know what they are. */
const UNKNOWN = new Set(["", "application/octet-stream", "binary/octet-stream"]);

/** The type of a file that a model can be shown. Its bytes decide: servers often give images no type, and pages of errors one of an image. */
export function fileTypeOf(bytes: Uint8Array, contentType: string | undefined): string | undefined {
  const beginning = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, BEGINNING_BYTES));
  const found = BEGINNINGS.find(([, pattern]) => pattern.test(beginning.toString("latin1")));
  if (found) return found[0];
  const essence = essenceOf(contentType);
  const seemsText = isText(essence) || (UNKNOWN.has(essence) && isUtf8(bytes) && !bytes.includes(0));
  return seemsText ? "text/plain" : undefined;
}
