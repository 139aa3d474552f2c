import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildSchema, parse, validate } from "graphql";
import { expect, test } from "vitest";
import { generateDocuments, WRITTEN } from "../../generate-documents.ts";

test("the documents are those beside the pages: `npm run schema` writes them", async () => {
  expect(readFileSync(WRITTEN, "utf8")).toBe(await generateDocuments());
});

test("each document fits the schema", () => {
  const schema = buildSchema(readFileSync(join(import.meta.dirname, "../../../schema.graphql"), "utf8"));
  const texts = [...readFileSync(WRITTEN, "utf8").matchAll(/>\(\n {2}("[^\n]*"),\n\)/g)];
  expect(texts.length).toBeGreaterThan(10);
  for (const [, text] of texts) expect(validate(schema, parse(JSON.parse(text!) as string))).toEqual([]);
});
