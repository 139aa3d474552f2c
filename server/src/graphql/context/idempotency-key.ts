/** The argument `idempotencyKey` of mutations that start runs, or the header instead. */
import { LIMITS } from "../../lib/limits.ts";
import { checkedKey } from "../../runs/idempotency-key.ts";
import type { Context } from "./context.ts";

export const IDEMPOTENCY_KEY = {
  required: false,
  description: `A key that makes the request safe to repeat, of at most ${LIMITS.idempotencyKeyCharacters} characters. It can also be sent as the \`Idempotency-Key\` header. For ${LIMITS.idempotencyHours} hours, a request with the same key and the same arguments returns the same run; with other arguments, it is CONFLICT.`,
} as const;

export const keyOf = ({ origin }: Context, argument: string | null | undefined): string | undefined =>
  checkedKey(argument ?? undefined, origin.idempotencyKey, "input.idempotencyKey");
