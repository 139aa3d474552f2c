/** The language of definitions for the editor's completion: the profile that the server checks by, without what only refuses. */
import type { Language, Part } from "./src/pages/agent/completion/language.ts";

type Written = Readonly<Record<string, unknown>>;

const KEPT = ["type", "required", "enum", "const", "$ref", "x-choose"] as const;
/** Longer ones list what the completion offers anyway. */
const MAX_HINT = 120;

export function languageOf(profile: Written): Language {
  const { $defs, ...root } = profile;
  return { root: partOf(root), parts: partsOf($defs as Record<string, unknown>) };
}

function partOf(written: unknown): Part {
  if (typeof written !== "object" || written === null) return {};
  const given = written as Record<string, unknown>;
  const { properties, items, oneOf, additionalProperties: values } = given;
  const [hint, means] = [given["x-say"], given["x-value"]];
  return {
    ...Object.fromEntries(KEPT.flatMap((key) => (key in given ? [[key, given[key]]] : []))),
    ...(properties ? { properties: partsOf(properties as Record<string, unknown>) } : {}),
    ...(items ? { items: partOf(items) } : {}),
    ...(typeof values === "object" && values ? { values: partOf(values) } : {}),
    ...(Array.isArray(oneOf) ? { oneOf: oneOf.filter((one) => !isRefusal(one)).map(partOf) } : {}),
    ...(typeof hint === "string" && hint.length <= MAX_HINT ? { hint } : {}),
    ...(typeof means === "string" && /^use\.|^then$/.test(means) ? { means } : {}),
  };
}

const partsOf = (written: Record<string, unknown>): Record<string, Part> =>
  Object.fromEntries(
    Object.entries(written).flatMap(([name, one]) => (isRefused(one) ? [] : [[name, partOf(one)] as const])),
  );

const isRefused = (one: unknown): boolean =>
  typeof one === "object" && one !== null && "x-refused" in one && "not" in one;

/** An alternative that is there to be refused: the key that it needs is. */
function isRefusal(one: unknown): boolean {
  const { required = [], properties = {} } = one as { required?: string[]; properties?: Record<string, unknown> };
  return required.some((key) => isRefused(properties[key]));
}
