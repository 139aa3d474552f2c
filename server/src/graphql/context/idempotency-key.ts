/** The argument `idempotencyKey` of mutations that start runs, or the header instead. */
import { badInput } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Context } from "./context.ts";

export const IDEMPOTENCY_KEY = {
  required: false,
  description: `A key that makes the request safe to repeat, of at most ${LIMITS.idempotencyKeyCharacters} characters. It can also be sent as the \`Idempotency-Key\` header. For ${LIMITS.idempotencyHours} hours, a request with the same key and the same arguments returns the same run; with other arguments, it is CONFLICT.`,
} as const;

/** Limited to what an HTTP header can carry as well. */
const PATTERN = new RegExp(`^[\\x20-\\x7e]{1,${LIMITS.idempotencyKeyCharacters}}$`);

export function keyOf({ origin }: Context, argument: string | null | undefined): string | undefined {
  const header = origin.idempotencyKey;
  if (argument != null && header !== undefined && argument !== header) {
    throw badInput("invalid_input", "the Idempotency-Key header and input.idempotencyKey differ", [
      { path: "input.idempotencyKey", code: "differs", message: "differs from the Idempotency-Key header" },
    ]);
  }
  const key = argument ?? header;
  if (key === undefined || PATTERN.test(key)) return key;
  const message = `must have 1 to ${LIMITS.idempotencyKeyCharacters} printable characters of ASCII`;
  throw badInput("invalid_input", `the idempotency key ${message}`, [
    { path: "input.idempotencyKey", code: "invalid", message },
  ]);
}
