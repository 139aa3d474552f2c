/**
 * `npm run schema` prints what is made from the code: schema.graphql, docs/access.md with who may ask for what, and docs/limits.md. With
 * `--release` the schema becomes the contract that later changes are compared with (schema-changes.test.ts), too.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { printSchema } from "graphql";
import { accessText } from "./print-access.ts";
import { limitsText } from "./print-limits.ts";
import { createSchema } from "./schema.ts";

const ROOT = join(import.meta.dirname, "../../..");
const SCHEMA_FILE = join(ROOT, "schema.graphql");
export const ACCESS_FILE = join(ROOT, "docs/access.md");
export const LIMITS_FILE = join(ROOT, "docs/limits.md");
export const RELEASED_SCHEMA_FILE = join(ROOT, "schema.released.graphql");

export const schemaText = (): string => `${printSchema(createSchema())}\n`;

if (import.meta.main) {
  const text = schemaText();
  writeFileSync(SCHEMA_FILE, text);
  writeFileSync(ACCESS_FILE, accessText(createSchema()));
  writeFileSync(LIMITS_FILE, limitsText());
  if (process.argv.includes("--release")) writeFileSync(RELEASED_SCHEMA_FILE, text);
}
