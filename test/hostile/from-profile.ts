/**
 * Definitions with a hostile text at each place where the profile takes one: every key of every kind of task, every scheme of
 * authentication. The places are found in the profile's schema, so a new key is among them by itself.
 */
import { PROFILE } from "../../server/src/definition/profile/profile.ts";
import type { Schema, SchemaObject } from "../../server/src/definition/schema/schema-walk.ts";
import type { Json, JsonObject } from "../../server/src/lib/json/json.ts";
import type { Random } from "../faults/random.ts";

/** A definition that has this text at one place. */
export type Place = { path: string; definitionWith(text: string): string };

type Leaf = { path: string; make(text: string): Json };
/** The names of the schemas that one is in: each is gone into once. */
type Way = readonly string[];

const DEFS = PROFILE["$defs"] as Record<string, SchemaObject>;

function resolved(schema: SchemaObject, way: Way): { schema: SchemaObject; way: Way } | undefined {
  if (schema.$ref === undefined) return { schema, way };
  const name = schema.$ref.replace("#/$defs/", "");
  return way.includes(name) ? undefined : resolved({ ...DEFS[name]!, ...schema, $ref: undefined! }, [...way, name]);
}

const choicesOf = ({ oneOf = [], anyOf = [] }: SchemaObject): Schema[] => [...oneOf, ...anyOf];
const takes = (schema: SchemaObject, type: string): boolean =>
  schema.const === undefined &&
  (schema.type === undefined ? choicesOf(schema).length === 0 : [schema.type].flat().includes(type));

function leavesOf(given: Schema, path: string, before: Way): Leaf[] {
  if (given === false) return [];
  const found = resolved(given === true ? {} : given, before);
  if (!found || found.schema["x-refused"] !== undefined) return [];
  const { schema, way } = found;
  const here: Leaf[] = takes(schema, "string") ? [{ path, make: (text) => text }] : [];
  const choices = choicesOf(schema).flatMap((choice) => leavesOf(choice, path, way));
  const items = schema.items ? leavesOf(schema.items, `${path}/0`, way).map(within((value) => [value])) : [];
  return [...here, ...choices, ...items, ...fieldsOf(schema, path, way)];
}

const within =
  (put: (value: Json) => Json) =>
  ({ path, make }: Leaf): Leaf => ({ path, make: (text) => put(make(text)) });

function fieldsOf(schema: SchemaObject, path: string, way: Way): Leaf[] {
  const least = requiredOf(schema, way);
  const known = Object.entries(schema.properties ?? {}).flatMap(([key, value]) =>
    leavesOf(value, `${path}/${key}`, way).map(within((inner) => ({ ...least, [key]: inner }))),
  );
  const more = schema.additionalProperties;
  if (more === undefined || more === false) return known;
  const values = leavesOf(more, `${path}/x`, way).map(within((inner) => ({ ...least, x: inner })));
  const key: Leaf = { path: `${path}/*`, make: (text) => ({ ...least, [text]: leastOf(more, way) }) };
  return [...known, ...values, key];
}

const requiredOf = ({ required = [], properties = {} }: SchemaObject, way: Way): JsonObject =>
  Object.fromEntries(required.map((key) => [key, leastOf(properties[key] ?? true, way)]));

/** Values that fit where any would not, by what they mean (`x-value`) or by the name of their schema. */
const FITTING = new Map<string, Json>(
  Object.entries({
    tasks: [{ one: { set: { a: 1 } } }],
    task: { set: { a: 1 } },
    cases: [{ one: { then: "end" } }],
    set: { a: 1 },
    form: { type: "object", properties: { a: { type: "string" } } },
    approvalForm: { type: "object", properties: { a: { type: "string" } } },
    schema: { type: "object" },
    field: { type: "string" },
    authority: "https://example.com",
    tokenPath: "/token",
    endpoint: "http://127.0.0.1:9/",
    expression: "${ .a }",
    fromOrAs: "${ . }",
    duration: "PT1S",
    timeout: { after: "PT1S" },
    status: 500,
    version: "1.0.0",
    versionOrLatest: "latest",
    retry: { delay: "PT1S", limit: { attempt: { count: 2 } } },
    errorType: "https://example.com/x",
    then: "end",
  }),
);

/** The smallest value that fits, or nearly. */
function leastOf(given: Schema, before: Way): Json {
  if (typeof given === "boolean") return "x";
  const name = given.$ref?.replace("#/$defs/", "");
  const found = resolved(given, before);
  const fitting = FITTING.get(found?.schema["x-value"] ?? "") ?? FITTING.get(name ?? "");
  if (fitting !== undefined || !found) return fitting ?? {};
  const { schema, way } = found;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0]!;
  const [choice] = choicesOf(schema);
  if (choice !== undefined) return leastOf(choice, way);
  if (takes(schema, "string")) return "x";
  if (takes(schema, "array")) return schema.items ? [leastOf(schema.items, way)] : [];
  return takes(schema, "object") ? requiredOf(schema, way) : 1;
}

const LEAVES = leavesOf(PROFILE, "", []);

const HEAD: JsonObject = { dsl: "1.0.3", namespace: "test", name: "hostile", version: "1.0.0" };

/** Every place of the profile that takes a text. */
export const PLACES: readonly Place[] = LEAVES.map(({ path, make }) => ({
  path,
  definitionWith: (text) => {
    const root = make(text) as JsonObject;
    const [, first, key] = path.split("/");
    // Only the place itself does not fit.
    const fitting = Object.entries(HEAD).filter(([name]) => first !== "document" || name !== key);
    const document = {
      ...(first === "document" ? (root["document"] as JsonObject) : {}),
      ...Object.fromEntries(fitting),
    };
    return JSON.stringify({ ...root, document });
  },
}));

const UNITS = [
  ["/", "a", " ", ".", "-", ":", "@", "0", "\\", '"', "{", "}", "%", "\n", "ä", "\u0301", "\u0316", "#", "?", "$"],
  ["..", "%2e/", "a@", "a.", "?x=", "${", "{a}", "\\(", '"\\', "a-", "1.", ", ", "P1", "::a", "/.", "\u{1f600}"],
].flat();
const ENDS = ["", "!", "\\", "\0", "}", "/x"];

/** Long runs, which a search that looks for their end goes through again and again. */
export const longText = (random: Random, length = random.pick([40, 2_000, 60_000, 200_000])): string => {
  const unit = random.pick(UNITS);
  return random.pick(["", "", "http://h/", "${ ", "P"]) + unit.repeat(length / unit.length) + random.pick(ENDS);
};

export const randomFromProfile = (random: Random): string => random.pick(PLACES).definitionWith(longText(random));
