/**
 * Questions to the fields of Query, Mutation and Subscription, made from the schema: the arguments that take an id with the
 * kinds of id that they take, and valid arguments for each field. A new field needs a line here only if its arguments cannot
 * be guessed (`GIVEN`).
 */
import {
  getNamedType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLInterfaceType,
  type GraphQLObjectType,
} from "graphql";
import { createSchema } from "../server/src/graphql/schema.ts";
import type { Kind } from "../server/src/lib/ids.ts";

export const schema = createSchema();
export const ROOTS = {
  query: schema.getQueryType()!,
  mutation: schema.getMutationType()!,
  subscription: schema.getSubscriptionType()!,
};
export type Operation = keyof typeof ROOTS;
export type Field = GraphQLField<unknown, unknown>;
export type NodeKind = Kind | "step";

/** The kinds that `node` finds. */
const NODES: readonly NodeKind[] = [
  "organization",
  "user",
  "project",
  "agent",
  "agentVersion",
  "run",
  "step",
  "approval",
  "trigger",
  "firing",
  "event",
  "apiKey",
  "secret",
  "modelConnection",
  "member",
  "session",
  "auditEvent",
];
const KINDS: readonly string[] = [...NODES, "invitation", "runDraft"] satisfies NodeKind[];

/** By the last name of the path, without `Id` or `Ids`; `id` is of the field's own kind. */
export function kindsOf(field: string, path: readonly string[]): readonly NodeKind[] {
  if (field === "node") return NODES;
  if (path.at(-2) === "startedBy") return ["user", "apiKey", "trigger", "run"];
  const name = path.at(-1) === "id" ? field : path.at(-1)!.replace(/Ids?$/, "");
  if (name === "actor") return ["user", "apiKey"];
  if (!KINDS.includes(name)) throw new Error(`of which kind is ${field}(${path.join(".")})?`);
  return [name as NodeKind];
}

/** An argument of type ID. `name`: `query runs(filter.agentId)`, or `Agent.runs(filter.agentId)` below a root's field. */
export type IdPlace = {
  name: string;
  operation: Operation;
  field: Field;
  path: string[];
  kinds: readonly NodeKind[];
};

export const idPlaces = (operation: Operation, owner: string, field: Field): IdPlace[] =>
  idPaths(field.args).map((path) => ({
    name: `${owner}${field.name}(${path.join(".")})`,
    operation,
    field,
    path,
    kinds: kindsOf(field.name, path),
  }));

export const fieldsOf = (type: GraphQLObjectType | GraphQLInterfaceType): Field[] => Object.values(type.getFields());

export const ROOT_PLACES: IdPlace[] = (Object.entries(ROOTS) as [Operation, GraphQLObjectType][]).flatMap(
  ([operation, type]) => fieldsOf(type).flatMap((field) => idPlaces(operation, `${operation} `, field)),
);

function idPaths(inputs: readonly (GraphQLArgument | GraphQLInputField)[]): string[][] {
  return inputs.flatMap(({ name, type }) => {
    const named = getNamedType(type);
    if (named.name === "ID") return [[name]];
    return isInputObjectType(named) ? idPaths(Object.values(named.getFields())).map((rest) => [name, ...rest]) : [];
  });
}

const DEFINITION =
  "document: {dsl: '1.0.3', namespace: test, name: new, version: '1.0.0'}\ndo: [{wait: {wait: PT1H}}]\n";

/** Values that cannot be guessed from the types, or would change nothing: fields of the input, or arguments if there is none. */
const GIVEN: Record<string, object> = {
  createApiKey: { scopes: ["runs:read"] },
  saveAgentDraft: { definition: DEFINITION },
  publishAgent: { definition: DEFINITION },
  validateDefinition: { definition: DEFINITION },
  publishAgentVersion: { version: "1.0.0" },
  setAgentLimit: { concurrency: 7 },
  draftRunInput: { text: "n 1", timezone: "UTC" },
  runAgent: { input: { n: 1 } },
  reassignApproval: { assignees: ["role:owner"] },
  createTrigger: { trigger: { type: "webhook" } },
  updateTrigger: { name: "other" },
  fireTrigger: { payload: { n: 1 } },
  cronPreview: { schedule: "0 8 * * *", timezone: "UTC" },
};

/** Ids of the caller's own. */
export type Ids = Partial<Record<NodeKind, string>>;
export type Arguments = Record<string, unknown>;

/** Valid arguments: what is required, and what `given` and `more` say. */
export function argumentsOf(field: Field, ids: Ids, more: object = {}): Arguments {
  const required = objectOf(field.args, field.name, ids);
  const given = { ...GIVEN[field.name], ...more };
  const input = required["input"];
  return input ? { input: { ...input, ...given } } : { ...required, ...given };
}

/** The same with an id at a place. */
export function argumentsWith({ field, path }: IdPlace, id: string, ids: Ids, more?: object): Arguments {
  const [first, ...within] = path as [string, ...string[]];
  const given = argumentsOf(field, ids, more);
  let value: unknown = id;
  for (const name of within.toReversed()) value = { [name]: value };
  return { ...given, [first]: within.length > 0 ? { ...(given[first] as object), ...(value as object) } : value };
}

/** A harmless value of a type: the least of what is required, the last of what can be chosen. */
export function valueOf(type: GraphQLInputType, idOf: () => string | undefined): unknown {
  if (isNonNullType(type)) return valueOf(type.ofType, idOf);
  if (isListType(type)) return [];
  if (isEnumType(type)) return type.getValues().at(-1)!.name;
  if (!isInputObjectType(type))
    return type.name === "ID"
      ? idOf()
      : ({ Int: 1, Boolean: true, DateTime: "2030-01-01T00:00:00Z", JSON: {} }[type.name] ?? "nothing");
  const fields = Object.values(type.getFields());
  const given = type.isOneOf ? fields.slice(0, 1) : fields.filter((field) => isNonNullType(field.type));
  return Object.fromEntries(given.map((field) => [field.name, valueOf(field.type, idOf)]));
}

function objectOf(inputs: readonly (GraphQLArgument | GraphQLInputField)[], field: string, ids: Ids): Arguments {
  const required = inputs.filter(({ type }) => isNonNullType(type));
  return Object.fromEntries(
    required.map(({ name, type }) => {
      const named = getNamedType(type);
      if (isInputObjectType(named) && !named.isOneOf)
        return [name, objectOf(Object.values(named.getFields()), field, ids)];
      return [name, valueOf(type, () => ids[kindsOf(field, [name])[0]!])];
    }),
  );
}

export type Question = { query: string; variables: Arguments };

/** `around`: what leads to a field that is not a root's own. */
export function questionOf(
  operation: Operation,
  { name, args }: Field,
  given: Arguments,
  selection = "",
  around = (asked: string): string => asked,
): Question {
  const used = args.filter((argument) => Object.hasOwn(given, argument.name));
  const declared = used.map((argument) => `$${argument.name}: ${String(argument.type)}`).join(", ");
  const passed = used.map((argument) => `${argument.name}: $${argument.name}`).join(", ");
  const asked = `${name}${passed && `(${passed})`} ${selection}`;
  return { query: `${operation} ${declared && `(${declared})`} { ${around(asked)} }`, variables: given };
}
