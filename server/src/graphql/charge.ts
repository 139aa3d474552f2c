/**
 * Every field counts what it answers (`answer-size.ts`), and none begins to read for a request that has ended: this holds
 * for the whole schema, so that no resolver has to think of it.
 */
import {
  defaultFieldResolver,
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
  type GraphQLFieldResolver,
  type GraphQLSchema,
} from "graphql";
import type { Json } from "../lib/json.ts";
import { JsonText } from "../lib/json-text.ts";
import type { Context } from "./context.ts";

type Resolver = GraphQLFieldResolver<unknown, Context>;
type Count = (value: unknown, context: Context) => unknown;

/** What an object of a list takes while an answer is made, about, beside its texts. */
const OBJECT_BYTES = 400;

const countText: Count = (value, { size }) => {
  if (typeof value === "string") size.charge(value.length);
  return value;
};

/** What is a JsonText already was charged by who read it. */
const countJson: Count = (value, { size }) => {
  if (value == null || value instanceof JsonText) return value;
  const json = JsonText.ofValue(value as Json);
  size.charge(json.bytes);
  return json;
};

const countList: Count = (value, { size }) => {
  if (Array.isArray(value)) size.charge(value.length * OBJECT_BYTES);
  return value;
};

const counted =
  (count: Count, inner: Resolver): Resolver =>
  (source, args, context, info) => {
    const value = inner(source, args, context, info);
    return value instanceof Promise
      ? value.then((resolved: unknown) => count(resolved, context))
      : count(value, context);
  };

const whileWanted =
  (inner: Resolver): Resolver =>
  (source, args, context, info) => {
    if (context.size.refusal) throw context.size.refusal;
    context.ending.throwIfOver();
    return inner(source, args, context, info);
  };

export function chargeFields(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith("__")) continue;
    for (const field of Object.values(type.getFields())) {
      const resolve = (field.resolve ?? defaultFieldResolver) as Resolver;
      const { name } = getNamedType(field.type);
      const isList = isListType(getNullableType(field.type));
      if (name === "JSON") field.resolve = whileWanted(counted(countJson, resolve));
      else if (name === "String") field.resolve = counted(countText, resolve);
      else if (isList) field.resolve = whileWanted(counted(countList, resolve));
      else if (isObjectType(getNamedType(field.type))) field.resolve = whileWanted(resolve);
    }
  }
  return schema;
}
