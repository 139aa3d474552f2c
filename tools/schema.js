// Prints what is made from the schema: schema.graphql and docs/access.md, then the UI's documents, which need the first.
import { spawnSync } from "node:child_process";

for (const file of ["server/src/graphql/print-schema.ts", "web/generate-documents.ts"]) {
  const { status } = spawnSync(process.execPath, [file, ...process.argv.slice(2)], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
