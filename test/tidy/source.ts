/** The project's own files as the tidy tests see them: text, syntax tree, imports. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { parseSync, Visitor, type ESTree } from "vite";

export const ROOT = join(import.meta.dirname, "..", "..");
const FOREIGN = new Set(["node_modules", "dist", "peers", ".git", ".cache"]);

export type Source = {
  /** From the root, with slashes. */
  path: string;
  text: string;
  program: ESTree.Program;
  /** Paths from the root of what it imports by a relative path, workers named by a URL included. */
  imports: string[];
};

/** Tests, suites that several tests run, and what they are given. */
export const isTest = (path: string): boolean => /\.(test|testsuite|fixture)\.tsx?$/.test(path);

/** Every file of the project below `folder`, as paths from the root; none when there is no such folder yet. */
export function filesBelow(folder: string): string[] {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = posix.join(folder, entry.name);
    if (FOREIGN.has(entry.name) || entry.name.startsWith(".dist")) return [];
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

export const textOf = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** The tree is made when it is first asked for: most rules look at the text of most files alone. */
export function parse(path: string, text: string): Source {
  let kept: ReturnType<typeof parseSync> | undefined;
  const parsed = () => (kept ??= parseSync(path, text));
  let imports: string[] | undefined;
  return {
    path,
    text,
    get program() {
      return parsed().program;
    },
    get imports() {
      return (imports ??= importsOf(path, text, parsed().module));
    },
  };
}

function importsOf(path: string, text: string, module: ReturnType<typeof parseSync>["module"]): string[] {
  const specifiers = [
    ...module.staticImports.map((one) => one.moduleRequest.value),
    ...module.staticExports.flatMap((one) => one.entries.flatMap((entry) => entry.moduleRequest?.value ?? [])),
    ...module.dynamicImports.map(({ moduleRequest }) => text.slice(moduleRequest.start + 1, moduleRequest.end - 1)),
    // `new URL(`./worker${path.extname(import.meta.filename)}`, import.meta.url)`: .ts from source, .js when built.
    ...[...text.matchAll(/new URL\(\s*["`](\.[^"`$]+)(?:\$\{[^}]*\})?["`],\s*import\.meta\.url/g)].map(([, name]) =>
      /\.\w+$/.test(name!) ? name! : `${name}.ts`,
    ),
  ];
  const local = specifiers.filter((specifier) => /^\..*\.[tj]sx?$/.test(specifier));
  return local.map((specifier) => posix.join(posix.dirname(path), specifier));
}

const kept = new Map<string, Source>();

/** Each file is read once for all rules of a worker. */
export function read(path: string): Source {
  const source = kept.get(path) ?? parse(path, textOf(path));
  kept.set(path, source);
  return source;
}

/** The code of the server: no tests. */
export const serverSources = (): Source[] =>
  filesBelow("server/src")
    .filter((path) => path.endsWith(".ts") && !isTest(path))
    .map(read);

/** The code of the browser. */
export const webSources = (): Source[] =>
  filesBelow("web/src")
    .filter((path) => /\.tsx?$/.test(path) && !path.endsWith(".d.ts") && !isTest(path))
    .map(read);

/** All code that people write here, tests and tools included. */
export const allSources = (): Source[] =>
  ["server", "web", "client", "test", "bench", "examples", "tools"]
    .flatMap(filesBelow)
    .filter((path) => /\.(ts|tsx|js)$/.test(path))
    .map(read);

/** Calls `visit` for each node of the types that it names. */
export const walk = (source: Source, visit: ConstructorParameters<typeof Visitor>[0]): void =>
  new Visitor(visit).visit(source.program);

export const lineOf = (source: Source, offset: number): number => source.text.slice(0, offset).split("\n").length;

export const at = (source: Source, offset: number): string => `${source.path}:${lineOf(source, offset)}`;

/** Text literals with their place; the holes of a template are left as `${}`. */
export function literalsOf(source: Source): { start: number; text: string }[] {
  const found: { start: number; text: string }[] = [];
  walk(source, {
    Literal: ({ value, start }) => void (typeof value === "string" && found.push({ start, text: value })),
    TemplateLiteral: ({ quasis, start }) =>
      void found.push({ start, text: quasis.map(({ value }) => value.cooked ?? value.raw).join("${}") }),
  });
  return found;
}
