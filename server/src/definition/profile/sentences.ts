/** A violation of a schema in one sentence: what is wrong, and what to write instead. */
import { isNumber, isObject } from "../../lib/json/json.ts";
import { hint, nearest } from "../../lib/did-you-mean.ts";
import { pointer, quote, type Finding, type Path } from "../text/problem.ts";
import { explainRefusedCall } from "./explain-call.ts";
import { IGNORED_MEANS } from "../schema/schema-words.ts";
import { reasonOf } from "../schema/reasons.ts";
import type { SchemaObject, Violation } from "../schema/schema-walk.ts";

/** The first keys show which task is meant; an object may have thousands. */
const KEYS_COMPARED = 20;

/** For the profile: names the place and uses the profile's own words. */
function findingOf(violation: Violation): Finding {
  const { path, at, keyword, schema } = violation;
  const refusal = schema["x-refused"] as string | undefined;
  if (refusal !== undefined) return { path, at: "key", message: refusal };
  if (keyword === "oneOf") return explainUnmeant(violation);
  if (keyword === "additionalProperties") return { path, at, message: unknownKey(violation) };
  if (keyword === "required")
    return { path, at, message: `${quote(violation.key!)} is missing in ${what(path.slice(0, -1), schema)}` };
  const say = schema["x-say"] as string | undefined;
  const reason = `${keyword === "propertyNames" ? `the name ${quote(violation.key!)}` : place(path)} ${reasonOf(violation)}`;
  if (reason.endsWith("?")) return { path, at, message: reason };
  return { path, at, message: say === undefined ? reason + inQuotes(violation) : `${reason}; ${say}` };
}

/** One mistake, one message: the key that was mistyped is not reported as missing too. */
export function findingsOf(violations: Violation[]): Finding[] {
  const mistyped = new Set(
    violations.flatMap((violation) => {
      const meant =
        violation.keyword === "additionalProperties" ? nearest(violation.key!, knownKeys(violation.schema)) : undefined;
      return meant === undefined ? [] : [pointer([...violation.path.slice(0, -1), meant])];
    }),
  );
  return violations
    .filter(({ keyword, path }) => keyword !== "required" || !mistyped.has(pointer(path)))
    .map(findingOf);
}

const inQuotes = ({ keyword, schema, value }: Violation): string =>
  keyword === "type" && schema.type === "string" && (isNumber(value) || typeof value === "boolean")
    ? "; put it in quotes"
    : "";

/** None of the branches is meant: an unknown task, call, type or scheme. */
function explainUnmeant({ path, at, schema, value }: Violation): Finding {
  const choose = schema["x-choose"];
  if (typeof choose === "object" && isObject(value)) {
    const chosen = value[choose.property] ?? null;
    const message =
      choose.property === "call" && typeof chosen === "string" ? explainRefusedCall(chosen) : String(schema["x-say"]);
    return { path: [...path, choose.property], at: "value", message };
  }
  const known = schema.oneOf!.flatMap((branch) => (branch as SchemaObject).required?.slice(0, 1) ?? []);
  const keys = isObject(value) ? Object.keys(value) : [];
  for (const key of keys.slice(0, KEYS_COMPARED)) {
    const near = nearest(key, known);
    if (near !== undefined)
      return { path: [...path, key], at: "key", message: `${quote(key)} is not known; did you mean ${quote(near)}?` };
  }
  return {
    path,
    at,
    message: `${place(path)} ${keys.length === 0 ? "is empty" : "does not say enough"}; ${String(schema["x-say"] ?? "write one of the known forms")}`,
  };
}

const knownKeys = (schema: SchemaObject): string[] =>
  Object.keys(schema.properties ?? {}).filter((name) => {
    const { "x-refused": refusal, "x-value": means } = schema.properties![name] as SchemaObject;
    return refusal === undefined && !means?.startsWith(IGNORED_MEANS);
  });

function unknownKey({ path, key, schema }: Violation): string {
  const known = knownKeys(schema);
  const owner = what(path.slice(0, -1), schema);
  const others = schema["x-alone"] as string[] | undefined;
  if (others?.includes(key!))
    return `${owner} cannot have ${quote(key!)} as well; ${String(schema["x-because"] ?? "a task does one thing")}`;
  if (known.length === 0) return `${quote(key!)} is not known in ${owner}; it has no keys`;
  return `${quote(key!)} is not known in ${owner}${hint(key!, known)}`;
}

function what(path: Path, schema: SchemaObject): string {
  return (schema["x-what"] as string | undefined) ?? (path.length === 0 ? "the definition" : place(path));
}

function place(path: Path): string {
  const last = path.at(-1);
  if (last === undefined) return "the definition";
  return typeof last === "number" ? `item ${last + 1}` : quote(last);
}
