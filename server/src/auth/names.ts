/** The rules for names, handles, e-mail addresses and passwords, and the sentences of their refusals. */
import { isEmail, isPlainText } from "../lib/mail/email-address.ts";
import { badInput, type FieldCode, type FieldProblem } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";
import { composed, isVisible } from "../lib/text.ts";
import { COMMON_PASSWORDS } from "./common-passwords.ts";

/** RFC 1123 label: a project's handle is a definition's namespace. */
const HANDLE = new RegExp(`^[a-z0-9](?:[a-z0-9-]{0,${LIMITS.handleCharacters - 2}}[a-z0-9])?$`);

/** The name or e-mail address as it is stored: NFC, without surrounding space. One that is too long stays so. */
export const tidyName = (text: string): string =>
  composed(text, Math.max(LIMITS.nameCharacters, LIMITS.emailCharacters)).trim();

const problem = (path: string, code: FieldCode, message: string): FieldProblem => ({ path, code, message });

/** `path` in dots from the argument, e.g. `input.name`. */
export function nameProblem(text: string, path: string): FieldProblem | undefined {
  const name = tidyName(text);
  if (name === "") return problem(path, "required", "must not be empty");
  if (name.length > LIMITS.nameCharacters) {
    return problem(path, "too_long", `must have at most ${LIMITS.nameCharacters} characters`);
  }
  if (!isPlainText(name)) return problem(path, "invalid", "must not contain control characters or lone surrogates");
  return isVisible(name) ? undefined : problem(path, "invalid", "must have a visible character");
}

export const handleProblem = (text: string, path: string): FieldProblem | undefined =>
  HANDLE.test(text)
    ? undefined
    : problem(
        path,
        "invalid",
        `must be 1 to ${LIMITS.handleCharacters} characters of a-z, 0-9 and -, and begin and end with a letter or digit`,
      );

/**
 * One for all ways to write an e-mail that PostgreSQL may find the same account by: with most locales its `lower` makes İ
 * an i, while JavaScript leaves a dot above. An e-mail with n i's would have 2ⁿ names, each with its own guesses.
 */
export const accountName = (email: string): string => email.toLowerCase().replaceAll("\u0307", "");

export const emailProblem = (text: string, path: string): FieldProblem | undefined =>
  isEmail(tidyName(text))
    ? undefined
    : problem(path, "invalid", `must be an e-mail address of at most ${LIMITS.emailCharacters} characters`);

export function passwordProblem(text: string, path: string): FieldProblem | undefined {
  if (text.length < LIMITS.passwordCharactersLeast) {
    return problem(path, "too_short", `must have at least ${LIMITS.passwordCharactersLeast} characters`);
  }
  if (text.length > LIMITS.passwordCharactersMost) {
    return problem(path, "too_long", `must have at most ${LIMITS.passwordCharactersMost} characters`);
  }
  if (isFirstGuess(text)) {
    return problem(path, "too_common", "must not be a common password or one character repeated");
  }
  return undefined;
}

const isFirstGuess = (password: string): boolean =>
  password.trim() === "" || new Set(password).size === 1 || COMMON_PASSWORDS.has(password.trim().toLowerCase());

/** Throws BAD_USER_INPUT with every problem found, each named in the message. */
export function refuseProblems(found: (FieldProblem | undefined)[]): void {
  const fields = found.filter((one) => one !== undefined);
  if (fields.length === 0) return;
  throw badInput(
    "invalid_input",
    fields.map(({ path, message }) => `${path.replace(/^input\./, "")} ${message}`).join("; "),
    fields,
  );
}
