/** Every field of Query, Mutation and Subscription asks for its scope in the one table. */
import { defaultFieldResolver, type GraphQLFieldResolver, type GraphQLSchema } from "graphql";
import { checkField } from "../auth/caller.ts";
import { SCOPES, type Field } from "../auth/scopes.ts";
import type { Context } from "./context.ts";

type Resolver = GraphQLFieldResolver<unknown, Context>;

const guarded =
  (field: Field, inner: Resolver): Resolver =>
  (source, args, context, info) => {
    checkField(context.caller, field);
    return inner(source, args, context, info);
  };

/** Throws when a field is missing from the table, or the table names a field that is not there. */
export function guardFields(schema: GraphQLSchema): GraphQLSchema {
  const unused = new Set(Object.keys(SCOPES).filter((name) => !name.endsWith(".__typename")));
  for (const type of [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]) {
    for (const field of Object.values(type?.getFields() ?? {})) {
      const name = `${type!.name}.${field.name}`;
      if (!Object.hasOwn(SCOPES, name)) throw new Error(`${name} has no entry in SCOPES (auth/scopes.ts)`);
      unused.delete(name);
      if (field.subscribe) field.subscribe = guarded(name as Field, field.subscribe as Resolver);
      else field.resolve = guarded(name as Field, (field.resolve ?? defaultFieldResolver) as Resolver);
    }
  }
  if (unused.size > 0) throw new Error(`SCOPES names fields that the schema does not have: ${[...unused].join(", ")}`);
  return schema;
}
