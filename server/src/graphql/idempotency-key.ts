/** The argument `idempotencyKey` of what starts a run, or the header in its place. */
import { badInput } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Context } from "./context.ts";

export const IDEMPOTENCY_KEY = {
  required: false,
  description: `At most ${LIMITS.idempotencyKeyCharacters} characters; also the Idempotency-Key header. The same key with the same body answers the same run for ${LIMITS.idempotencyHours} hours, with another body CONFLICT.`,
} as const;

/** What an HTTP header can carry, too. */
const PATTERN = new RegExp(`^[\\x20-\\x7e]{1,${LIMITS.idempotencyKeyCharacters}}$`);

export function keyOf({ origin }: Context, argument: string | null | undefined): { idempotencyKey?: string } {
  const header = origin.idempotencyKey;
  if (argument != null && header !== undefined && argument !== header) {
    throw badInput("the Idempotency-Key header and input.idempotencyKey differ", [
      { path: "input.idempotencyKey", code: "differs", message: "differs from the Idempotency-Key header" },
    ]);
  }
  const key = argument ?? header;
  if (key === undefined) return {};
  if (PATTERN.test(key)) return { idempotencyKey: key };
  const message = `must have 1 to ${LIMITS.idempotencyKeyCharacters} printable characters of ASCII`;
  throw badInput(`the idempotency key ${message}`, [{ path: "input.idempotencyKey", code: "invalid", message }]);
}
