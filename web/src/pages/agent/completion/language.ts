/** The language of definitions, and what may stand at a place in one. */
import { scalarOf, type Mapping, type Place } from "./place.ts";

/** A part of the language, as a JSON Schema has it. `hint`: what to write; `means`: the names that a text refers to. */
export type Part = {
  type?: string | readonly string[];
  properties?: Readonly<Record<string, Part>>;
  required?: readonly string[];
  items?: Part;
  /** The values of a mapping whose keys are the author's. */
  values?: Part;
  oneOf?: readonly Part[];
  /** How an alternative is recognized: by its first required key, by its type, or by the value of a property. */
  "x-choose"?: "key" | "type" | { property: string };
  enum?: readonly unknown[];
  const?: unknown;
  $ref?: string;
  hint?: string;
  means?: string;
};

export type Language = { root: Part; parts: Readonly<Record<string, Part>> };

const PREFIX = "#/$defs/";

export function resolve(language: Language, part: Part): Part {
  const { $ref, ...own } = part;
  return $ref === undefined ? part : { ...resolve(language, language.parts[$ref.slice(PREFIX.length)] ?? {}), ...own };
}

/** The parts that a value may be: all alternatives, but for those that `mapping`, which it is, excludes. */
export function alternatives(language: Language, part: Part, mapping?: Mapping): readonly Part[] {
  const resolved = resolve(language, part);
  const { oneOf, "x-choose": choose } = resolved;
  if (!oneOf) return [resolved];
  const all = oneOf.map((one) => resolve(language, one));
  const meant = mapping && all.filter((one) => isMeant(one, choose, mapping));
  return (meant && meant.length > 0 ? meant : all).flatMap((one) => alternatives(language, one, mapping));
}

function isMeant({ required, properties, type }: Part, choose: Part["x-choose"], mapping: Mapping): boolean {
  if (choose === "type") return type === "object";
  if (choose === "key") return required !== undefined && mapping.has(required[0]!);
  return choose !== undefined && properties?.[choose.property]?.const === scalarOf(mapping.get(choose.property));
}

/** The parts that may stand at a place. */
export function partsAt(language: Language, { path }: Pick<Place, "path">): readonly Part[] {
  let found: readonly Part[] = [language.root];
  for (const { key, mapping } of path)
    found = found
      .flatMap((part) => alternatives(language, part, mapping))
      .flatMap((part) => {
        const next = key === undefined ? part.items : (own(part.properties, key) ?? part.values);
        return next ? [next] : [];
      });
  return found;
}

const own = (properties: Part["properties"], key: string): Part | undefined =>
  properties && Object.hasOwn(properties, key) ? properties[key] : undefined;
