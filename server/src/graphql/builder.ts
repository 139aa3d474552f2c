/** What the files beside this one add the types of the schema to. Nothing is nullable unless it says so. */
import SchemaBuilder from "@pothos/core";
import type { Id, Kind } from "../lib/ids.ts";
import type { Json } from "../lib/json.ts";
import type { JsonText } from "../lib/json-text.ts";
import type { Context } from "./context.ts";
import type { Objects } from "./objects.ts";

type Types = {
  Context: Context;
  DefaultFieldNullability: false;
  DefaultInputFieldRequiredness: true;
  Objects: Objects;
  Interfaces: { Node: { id: Id<Kind> } };
  Scalars: {
    ID: { Input: string; Output: string };
    DateTime: { Input: Date; Output: Date };
    JSON: { Input: Json; Output: Json | JsonText };
  };
};

export const createBuilder = () =>
  new SchemaBuilder<Types>({ defaultFieldNullability: false, defaultInputFieldRequiredness: true });

export type Builder = ReturnType<typeof createBuilder>;
