/** E-mail addresses, as accounts have them and mails go to them. */
import { LIMITS } from "../limits.ts";

/** Control characters: PostgreSQL refuses NUL in text, and the others break terminals, logs and headers. */
const CONTROL = /\p{Cc}|[\u2028\u2029]/u;
/** The mail server checks what is before and after the @. */
const EMAIL = /^[^\s@<>()[\],;:"\\]{1,64}@[^\s@<>()[\],;:"\\.]+(?:\.[^\s@<>()[\],;:"\\.]+)*$/u;

export const isPlainText = (text: string): boolean => text.isWellFormed() && !CONTROL.test(text);

export const isEmail = (text: string): boolean =>
  text.length <= LIMITS.emailCharacters && EMAIL.test(text) && isPlainText(text);

/** An address, and the name that stands before it. */
export type Mailbox = { name: string; address: string };

const NAME_CHARACTERS = 200;

/** `Autograph <agents@example.org>`, `"Autograph, Inc." <agents@example.org>` or the address alone. Undefined for anything else. */
export function parseMailbox(text: string): Mailbox | undefined {
  const tidy = text.trim();
  if (!tidy.endsWith(">")) return isEmail(tidy) ? { name: "", address: tidy } : undefined;
  const at = tidy.lastIndexOf("<");
  const address = tidy.slice(at + 1, -1);
  const written = tidy.slice(0, Math.max(0, at)).trim();
  const name = written.length > 1 && written.startsWith('"') && written.endsWith('"') ? written.slice(1, -1) : written;
  const isName = name.length <= NAME_CHARACTERS && isPlainText(name) && !/["<>\\]/.test(name);
  return at >= 0 && isName && isEmail(address) ? { name, address } : undefined;
}
