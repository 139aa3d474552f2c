/**
 * The builder that the files of this folder add the schema's types to. Nothing is nullable unless it says so, but for the
 * fields of Query and Mutation (`makeRootsNullable` in schema.ts).
 */
import SchemaBuilder from "@pothos/core";
import type { Json } from "../../lib/json/json.ts";
import type { JsonText } from "../../lib/json/json-text.ts";
import type { Context } from "../context/context.ts";
import type { Objects } from "./objects.ts";

type Types = {
  Context: Context;
  DefaultFieldNullability: false;
  DefaultInputFieldRequiredness: true;
  Objects: Objects;
  Interfaces: { Node: object };
  Scalars: {
    ID: { Input: string; Output: string };
    DateTime: { Input: Date; Output: Date };
    JSON: { Input: Json; Output: Json | JsonText };
  };
};

export const createBuilder = () =>
  new SchemaBuilder<Types>({ defaultFieldNullability: false, defaultInputFieldRequiredness: true });

export type Builder = ReturnType<typeof createBuilder>;
