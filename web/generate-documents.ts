/**
 * Writes `src/api/documents.ts`: every GraphQL operation that lies beside a page, as text, with its types from `schema.graphql`.
 * `npm run schema` runs it; a test holds the file to its sources.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codegen } from "@graphql-codegen/core";
import * as operations from "@graphql-codegen/typescript-operations";
import {
  Kind,
  parse,
  print,
  stripIgnoredCharacters,
  visit,
  type DefinitionNode,
  type FragmentDefinitionNode,
  type OperationDefinitionNode,
} from "graphql";

const SOURCE = join(import.meta.dirname, "src");
export const WRITTEN = join(SOURCE, "api", "documents.ts");

const SCALARS = { DateTime: "string", JSON: "Json", ID: "string" };

export async function generateDocuments(): Promise<string> {
  const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".graphql"));
  const documents = files
    .toSorted()
    .map((location) => ({ location, document: parse(readFileSync(join(SOURCE, location), "utf8")) }));
  const types = await codegen({
    schema: parse(readFileSync(join(import.meta.dirname, "../schema.graphql"), "utf8")),
    documents,
    filename: WRITTEN,
    config: {},
    plugins: [{ operations: { enumType: "string-literal", skipTypename: true, scalars: SCALARS } }],
    pluginMap: { operations },
  });
  const definitions = documents.flatMap(({ document }) => document.definitions);
  const texts = definitions.filter(isOperation).map((operation) => exported(operation, definitions));
  return `${HEAD}\n${types.trim()}\n\n${texts.join("\n\n")}\n`;
}

const HEAD = `/** Written by \`npm run schema\` from the .graphql files beside the pages. */
import type { TypedDocumentNode } from "@urql/core";
import type { Json } from "../lib/json.ts";

/** urql takes the text itself, and these types with it. */
const typed = <Data, Variables extends Record<string, unknown>>(text: string) =>
  text as unknown as TypedDocumentNode<Data, Variables>;
`;

const isOperation = (node: DefinitionNode): node is OperationDefinitionNode => node.kind === Kind.OPERATION_DEFINITION;

function exported(operation: OperationDefinitionNode, definitions: DefinitionNode[]): string {
  const name = operation.name!.value;
  const kind = operation.operation.replace(/^./, (first) => first.toUpperCase());
  const text = [operation, ...fragmentsOf(operation, definitions)].map((node) => stripIgnoredCharacters(print(node)));
  return `export const ${name}Document = typed<${name}${kind}, ${name}${kind}Variables>(\n  ${JSON.stringify(text.join(" "))},\n);`;
}

/** All that it spreads, those within those too, each once. */
function fragmentsOf(operation: OperationDefinitionNode, definitions: DefinitionNode[]): FragmentDefinitionNode[] {
  const found = new Set<FragmentDefinitionNode>();
  const gather = (node: DefinitionNode): void =>
    void visit(node, {
      FragmentSpread: ({ name }) => {
        const fragment = definitions.find(
          (one): one is FragmentDefinitionNode =>
            one.kind === Kind.FRAGMENT_DEFINITION && one.name.value === name.value,
        );
        if (!fragment) throw new Error(`no fragment ${name.value}`);
        if (found.has(fragment)) return;
        found.add(fragment);
        gather(fragment);
      },
    });
  gather(operation);
  return [...found];
}

if (import.meta.main) writeFileSync(WRITTEN, await generateDocuments());
