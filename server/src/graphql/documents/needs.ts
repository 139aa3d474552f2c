/**
 * What an operation needs, worked out from its document once; the rule is in auth/field-scopes.ts. Everything that is
 * written counts, through fragments too, and what `@skip` or `@include` leaves out as well: whether an operation is
 * allowed does not depend on its variables. Each fragment is walked once, and once more in the answer of each mutation that
 * `ANSWERED_FIELDS` names.
 */
import {
  getNamedType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  Kind,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from "graphql";
import {
  ANSWERED_FIELDS,
  OBJECT_FIELDS,
  REACHING_FIELDS,
  ROOT_FIELDS,
  type Need,
  type Needs,
  type RootField,
} from "../../auth/field-scopes.ts";
import type { Scope } from "../../auth/scopes.ts";
import { fragmentsOf } from "./size.ts";

/** By `Type.field`: every field of the schema. */
export type FieldNeeds = ReadonlyMap<string, Need | "plain">;

/** Throws when a field of the schema is missing from the tables, or a table names a field that the schema does not have. */
export function readFieldNeeds(schema: GraphQLSchema): FieldNeeds {
  const needs = new Map<string, Need | "plain">(Object.entries(ROOT_FIELDS));
  for (const [type, groups] of Object.entries(OBJECT_FIELDS))
    for (const [need, fields] of Object.entries(groups))
      for (const field of fields) needs.set(`${type}.${field}`, need as Scope | "plain");

  const unused = new Set([...needs.keys(), ...Object.values(ANSWERED_FIELDS).flat()]);
  // The type does not list them, but every query may ask for them.
  unused.delete("Query.__schema");
  unused.delete("Query.__type");
  for (const type of Object.values(schema.getTypeMap())) {
    if (isIntrospectionType(type) || !(isObjectType(type) || isInterfaceType(type))) continue;
    for (const { name } of Object.values(type.getFields())) {
      const field = `${type.name}.${name}`;
      unused.delete(field);
      if (type.extensions["isPart"] === true) needs.set(field, "plain");
      if (!needs.has(field)) throw new Error(`${field} has no entry in auth/field-scopes.ts`);
      for (const { name: of } of type.getInterfaces())
        if ((needs.get(`${of}.${name}`) ?? needs.get(field)) !== needs.get(field))
          throw new Error(`${field} and ${of}.${name} differ in auth/field-scopes.ts`);
    }
  }
  if (unused.size > 0)
    throw new Error(`auth/field-scopes.ts names fields that the schema does not have: ${[...unused].join(", ")}`);
  return needs;
}

type Walk = {
  schema: GraphQLSchema;
  fieldNeeds: FieldNeeds;
  fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** Fragments, each with the `mutation` whose answer it is spread in. */
  walked: Set<string>;
  signIn: boolean;
  scopes: Map<Scope, string>;
  whole: string | undefined;
};

/** The document is valid. */
export function needsOf(
  schema: GraphQLSchema,
  fieldNeeds: FieldNeeds,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): Needs {
  const fragments = fragmentsOf(document);
  const walk: Walk = {
    schema,
    fieldNeeds,
    fragments,
    walked: new Set(),
    signIn: false,
    scopes: new Map(),
    whole: undefined,
  };
  walkSet(walk, operation.selectionSet, schema.getRootType(operation.operation)!.name, undefined);
  return { signIn: walk.signIn, scopes: walk.scopes, whole: walk.whole };
}

/** `mutation`: the one that answers the object, where `ANSWERED_FIELDS` names it. */
function walkSet(walk: Walk, { selections }: SelectionSetNode, type: string, mutation: string | undefined): void {
  for (const selection of selections) {
    if (selection.kind === Kind.FIELD) walkField(walk, selection, type, mutation);
    else if (selection.kind === Kind.FRAGMENT_SPREAD) walkFragment(walk, selection.name.value, mutation);
    else walkSet(walk, selection.selectionSet, selection.typeCondition?.name.value ?? type, mutation);
  }
}

function walkFragment(walk: Walk, name: string, mutation: string | undefined): void {
  const place = `${name} ${mutation}`;
  if (walk.walked.has(place)) return;
  walk.walked.add(place);
  const { selectionSet, typeCondition } = walk.fragments.get(name)!;
  walkSet(walk, selectionSet, typeCondition.name.value, mutation);
}

function walkField(walk: Walk, { name, selectionSet }: FieldNode, type: string, mutation: string | undefined): void {
  // Every type has it, and it is public.
  if (name.value === "__typename") return;
  const field = `${type}.${name.value}`;
  const need = walk.fieldNeeds.get(field)!;
  if (need === null) walk.signIn = true;
  else if (need !== "public" && need !== "plain" && !isAnswered(mutation, field)) {
    walk.signIn = true;
    if (!walk.scopes.has(need)) walk.scopes.set(need, field);
  }
  if (need !== "public" && Object.hasOwn(ROOT_FIELDS, field) && !REACHING_FIELDS.has(field as RootField))
    walk.whole ??= field;
  const answer = (walk.schema.getType(type) as GraphQLObjectType).getFields()[name.value]?.type;
  // Below `__schema` and `__type` nothing is protected.
  if (!selectionSet || !answer) return;
  walkSet(walk, selectionSet, getNamedType(answer).name, Object.hasOwn(ANSWERED_FIELDS, field) ? field : undefined);
}

const isAnswered = (mutation: string | undefined, field: string): boolean =>
  mutation !== undefined && ANSWERED_FIELDS[mutation as keyof typeof ANSWERED_FIELDS]?.includes(field) === true;
