/**
 * Who may ask for a field. Every field says it beside its type, in options that the builder's types require; the schema is
 * not created when one is missing. An operation needs what all of its fields need together, and is refused before any of it
 * is executed if the caller lacks something.
 *
 * 1. A field of Query, Mutation or Subscription needs its `scope`.
 * 2. A field of an object needs its `scope` as well, unless it is "inherited": then it comes with the object. So a scope is
 *    asked for where a selection leads on to what another scope protects: `run { agent { name } }` needs `runs:read`,
 *    `run { agent { draft } }` needs `agents:read` as well.
 * 3. The answer of a mutation comes with the mutation's own scope: the inherited fields, and those that `answers` lists.
 *    `runAgent { status output }` needs `runs:start` alone.
 */
import type { FieldNullability, InputFieldMap, SchemaTypes, TypeParam } from "@pothos/core";
import { isInterfaceType, isIntrospectionType, isObjectType, type GraphQLField, type GraphQLSchema } from "graphql";
import type { Need } from "../../auth/needs.ts";
import type { Scope } from "../../auth/scopes.ts";

type ObjectAccess = { scope: Scope | "inherited" };

type RootAccess = {
  scope: Need;
  /**
   * Whether an API key that is narrowed to projects or agents may ask for it. True if the field reads, lists, counts, watches
   * and changes no more than the key reaches (`test/reach.test.ts` asks), or if it is public.
   */
  narrowedKeys: boolean;
};

type MutationAccess = RootAccess & {
  /** `Type.field` of the answer: they come with the mutation's own scope, although they have another. */
  answers?: readonly string[];
  /** An operation of such fields alone ignores the Authorization header: they bring their own credential. */
  hasOwnCredential?: true;
  /** An operation of such fields alone begins even when the server is overloaded: it ends work or lets it continue. */
  isUrgent?: true;
  /** It asks for, tries or sets a password, so an operation may have only one such field. */
  triesPassword?: true;
};

declare global {
  // The names and parameters are those of @pothos/core, whose interfaces this extends.
  export namespace PothosSchemaTypes {
    export interface ObjectFieldOptions<
      Types extends SchemaTypes,
      ParentShape,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > extends ObjectAccess {}
    export interface InterfaceFieldOptions<
      Types extends SchemaTypes,
      ParentShape,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > extends ObjectAccess {}
    export interface QueryFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > extends RootAccess {}
    export interface MutationFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > extends MutationAccess {}
    export interface SubscriptionFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveShape,
      ResolveReturnShape,
    > extends RootAccess {}
  }
}

/** `narrowedKeys` only of root fields. */
export type Access = { scope: Need | "inherited" } & Partial<Omit<MutationAccess, "scope">>;
/** By `Type.field`: every field of the schema. */
export type FieldAccess = ReadonlyMap<string, Access>;

/** Fields of Query that graphql-js adds. What is below them is public. */
const INTROSPECTION: readonly [string, Access][] = [
  ["Query.__schema", { scope: null, narrowedKeys: true }],
  ["Query.__type", { scope: null, narrowedKeys: true }],
];

/** Throws if a field does not say who may ask for it, or says what cannot be. */
export function readFieldAccess(schema: GraphQLSchema): FieldAccess {
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  const access = new Map<string, Access>(INTROSPECTION);
  for (const type of Object.values(schema.getTypeMap())) {
    if (isIntrospectionType(type) || !(isObjectType(type) || isInterfaceType(type))) continue;
    const isRoot = roots.some((root) => root === type);
    for (const field of Object.values(type.getFields()))
      access.set(`${type.name}.${field.name}`, accessOf(field, type.name, isRoot));
  }
  checkInterfaces(schema, access);
  for (const [field, { answers = [] }] of access)
    for (const answer of answers)
      if (!access.has(answer)) throw new Error(`${field} answers ${answer}, which the schema does not have`);
  return access;
}

/** The builder keeps a field's options among its extensions. */
function accessOf(field: GraphQLField<unknown, unknown>, type: string, isRoot: boolean): Access {
  const options = field.extensions["pothosOptions"] as Partial<Access> | undefined;
  const { scope, narrowedKeys } = options ?? {};
  if (scope === undefined) throw new Error(`${type}.${field.name} has no scope`);
  if (isRoot ? scope === "inherited" : scope === null || scope === "public")
    throw new Error(
      `${type}.${field.name} has the scope ${String(scope)}, which ${isRoot ? "objects' fields" : "root fields"} alone may have`,
    );
  if (isRoot && narrowedKeys === undefined)
    throw new Error(`${type}.${field.name} does not say whether narrowed API keys may ask for it (narrowedKeys)`);
  if (scope === "public" && narrowedKeys === false)
    throw new Error(`${type}.${field.name} is public, so narrowed API keys may ask for it (narrowedKeys)`);
  return options as Access;
}

function checkInterfaces(schema: GraphQLSchema, access: FieldAccess): void {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type)) continue;
    for (const shared of type.getInterfaces())
      for (const name of Object.keys(shared.getFields()))
        if (access.get(`${type.name}.${name}`)?.scope !== access.get(`${shared.name}.${name}`)?.scope)
          throw new Error(`${type.name}.${name} and ${shared.name}.${name} have different scopes`);
  }
}
