/** Every refusal that a test receives is compared with the closed lists of `lib/errors.ts`, so that nothing else is ever sent. */
import { CODES, FIELD_CODES, RARE_REASONS, REASONS } from "../server/src/lib/errors.ts";

const CODE_LIST: readonly unknown[] = CODES;
const FIELD_CODE_LIST: readonly unknown[] = FIELD_CODES;
const REASON_LISTS: Readonly<Record<string, readonly unknown[]>> = {
  ...REASONS,
  ...Object.fromEntries(Object.entries(RARE_REASONS).map(([code, list]) => [code, [undefined, ...list]])),
};

type Extensions = { code?: unknown; reason?: unknown; fields?: { code?: unknown }[] };

/** Describes each part of an error's `extensions` that is in none of the lists. */
export function outsideTheLists({ code, reason, fields = [] }: Extensions = {}): string[] {
  const reasons = REASON_LISTS[String(code)] ?? [undefined];
  return [
    ...(CODE_LIST.includes(code) ? [] : [`the code ${String(code)}`]),
    ...(reasons.includes(reason) ? [] : [`${String(code)} with the reason ${String(reason)}`]),
    ...fields.filter((one) => !FIELD_CODE_LIST.includes(one.code)).map((one) => `a field's code ${String(one.code)}`),
  ];
}
