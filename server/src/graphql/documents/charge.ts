/**
 * Every field counts what it answers (`answer-size.ts`), and none begins to read for a request that has ended. This holds
 * for the whole schema, so that no resolver has to think about it.
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
import { Refusal } from "../../lib/errors.ts";
import type { Json } from "../../lib/json/json.ts";
import { JsonText } from "../../lib/json/json-text.ts";
import type { Context } from "../context/context.ts";

type Resolver = GraphQLFieldResolver<unknown, Context>;
type Count = (value: unknown, context: Context) => unknown;

/** About what an object of a list takes while an answer is made, without its texts. */
const OBJECT_BYTES = 400;

const countText: Count = (value, { size }) => {
  if (typeof value === "string") size.charge(value.length);
  return value;
};

/** A JsonText was charged by its reader. */
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

const countWith =
  (count: Count, inner: Resolver): Resolver =>
  (source, args, context, info) => {
    const value = inner(source, args, context, info);
    return value instanceof Promise
      ? value.then((resolved: unknown) => count(resolved, context))
      : count(value, context);
  };

const stopWhenOver =
  (inner: Resolver): Resolver =>
  (source, args, context, info) => {
    if (context.size.refusal) throw context.size.refusal;
    context.ending.throwIfOver();
    return inner(source, args, context, info);
  };

/** The part of a refusal besides its sentence is as large as the draft, or has a hundred problems of a definition. */
const countingRefusals =
  (inner: Resolver): Resolver =>
  (source, args, context, info) => {
    const value = inner(source, args, context, info);
    return value instanceof Promise ? value.catch((error: unknown) => countRefusal(error, context)) : value;
  };

function countRefusal(error: unknown, { size }: Context): never {
  if (error instanceof Refusal) {
    const { draft, fields = [] } = error.details;
    const texts = fields.reduce(
      (sum, { path, message }) => sum + path.length + message.length,
      fields.length * OBJECT_BYTES,
    );
    size.charge(texts + (draft?.definition.length ?? 0));
  }
  throw error;
}

export function chargeFields(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith("__")) continue;
    for (const field of Object.values(type.getFields())) {
      const resolve = (field.resolve ?? defaultFieldResolver) as Resolver;
      const { name } = getNamedType(field.type);
      const isList = isListType(getNullableType(field.type));
      if (name === "JSON") field.resolve = stopWhenOver(countWith(countJson, resolve));
      else if (name === "String") field.resolve = countWith(countText, resolve);
      else if (isList) field.resolve = stopWhenOver(countWith(countList, resolve));
      else if (isObjectType(getNamedType(field.type))) field.resolve = stopWhenOver(resolve);
      if (type === schema.getMutationType()) field.resolve = countingRefusals(field.resolve ?? resolve);
    }
  }
  return schema;
}
