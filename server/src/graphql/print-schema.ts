/** Prints the schema for schema.graphql: `npm run schema` writes it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { printSchema } from "graphql";
import { createSchema } from "./schema.ts";

export const schemaText = (): string => `${printSchema(createSchema())}\n`;

if (import.meta.main) writeFileSync(join(import.meta.dirname, "../../../schema.graphql"), schemaText());
