import { existsSync, globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";

const CORE = dirname(createRequire(import.meta.url).resolve("@mantine/core/styles.css"));

/** The parts of Mantine that a part is made of, itself included, and have styles. */
function partsOf(file: string, seen = new Set<string>()): string[] {
  if (seen.has(file) || !existsSync(file)) return [];
  seen.add(file);
  if (file.endsWith(".module.mjs")) return [basename(file, ".module.mjs")];
  const imports = [...readFileSync(file, "utf8").matchAll(/from "(\.[^"]+)"/g)];
  return imports.flatMap(([, path]) => partsOf(join(dirname(file), path!), seen));
}

test("the styles of all parts of Mantine that are used are there, and no others", () => {
  const texts = globSync(join(import.meta.dirname, "**/*.{ts,tsx}")).map((file) => readFileSync(file, "utf8"));
  const names = texts
    .flatMap((text) => [...text.matchAll(/import \{([^}]+)\} from "@mantine\/core"/g)])
    .flatMap(([, list]) => list!.split(",").map((name) => name.trim()));
  const used = [...new Set(names)].flatMap((name) => partsOf(join(CORE, "esm/components", name, `${name}.mjs`)));
  const main = readFileSync(join(import.meta.dirname, "main.tsx"), "utf8");
  const imported = [...main.matchAll(/@mantine\/core\/styles\/([A-Z]\w+)\.css/g)].map(([, name]) => name!);
  expect(imported.toSorted()).toEqual([...new Set(used)].toSorted());
});
