/** The tables of rooms in ARCHITECTURE.md, and what may be read from the imports of `server/src` and `web/src`. */
import type { Source } from "./source.ts";

/** Room (`runs`, or a file at the top such as `main`) → what it may import besides itself. */
export type Rooms = Map<string, Set<string>>;

/** `server/src/runs/start-run.ts` → `runs`; `server/src/main.ts` → `main`. */
export const roomOf = (path: string): string => path.split("/")[2]!.replace(/\.tsx?$/, "");

/** `heading`: of the section with the table. */
export function readRooms(markdown: string, heading = "Rooms"): Rooms {
  const section = markdown.split(new RegExp(`^## ${heading}$`, "m"))[1]?.split(/^## /m)[0] ?? "";
  const rows = [...section.matchAll(/^\| `([\w-]+)(?:\/|\.tsx?)` \|[^|]*\| ([^|]+) \|$/gm)];
  const names = rows.map(([, name]) => name!);
  return new Map(rows.map(([, name, allowed]) => [name!, allowedRooms(allowed!.trim(), names)]));
}

function allowedRooms(text: string, names: string[]): Set<string> {
  if (text === "nothing") return new Set();
  if (!text.startsWith("all")) return new Set(text.split(" "));
  const but = text.replace(/^all( but )?/, "").split(" ");
  return new Set(names.filter((name) => !but.includes(name)));
}

export const importsAgainst = (rooms: Rooms, sources: Source[]): string[] =>
  sources.flatMap(({ path, imports }) => {
    const room = roomOf(path);
    const allowed = rooms.get(room);
    if (allowed === undefined) return [`${path}: the room "${room}" is not in the table`];
    return imports
      .map(roomOf)
      .filter((target) => target !== room && !allowed.has(target))
      .map((target) => `${path}: ${room} may not import ${target}`);
  });

/** Each cycle once, as `a.ts → b.ts → a.ts`. */
export function cycles(sources: Source[]): string[] {
  const edges = new Map(sources.map(({ path, imports }) => [path, imports]));
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (path: string, trail: string[]): void => {
    if (trail.includes(path)) {
      found.push([...trail.slice(trail.indexOf(path)), path].join(" → "));
    } else if (!done.has(path)) {
      for (const next of edges.get(path) ?? []) visit(next, [...trail, path]);
      done.add(path);
    }
  };
  for (const { path } of sources) visit(path, []);
  return found;
}

/** Files that nothing reaches from the entries; a test does not make a file used. */
export function unreached(entries: string[], sources: Source[]): string[] {
  const edges = new Map(sources.map(({ path, imports }) => [path, imports]));
  const reached = new Set<string>();
  const visit = (path: string): void => {
    if (reached.has(path)) return;
    reached.add(path);
    edges.get(path)?.forEach(visit);
  };
  entries.forEach(visit);
  return sources.map(({ path }) => path).filter((path) => !reached.has(path));
}

/** Folders with more than `most` files, tests not counted. */
export function warehouses(most: number, sources: Source[]): string[] {
  const files = new Map<string, number>();
  for (const { path } of sources) {
    const folder = path.slice(0, path.lastIndexOf("/"));
    files.set(folder, (files.get(folder) ?? 0) + 1);
  }
  return [...files].filter(([, count]) => count > most).map(([folder, count]) => `${folder}: ${count} files`);
}

/**
 * Folders that import each other, at every depth: `server/src/auth: accounts ⇄ sessions`. The files directly in a folder are one
 * neighbour of its subfolders, `.`; at the top, where files join the rooms, they are not compared.
 */
export function folderPairs(sources: Source[]): string[] {
  const edges = new Map<string, string>();
  for (const { path, imports } of sources) {
    for (const target of imports) {
      const edge = neighbours(path, target);
      if (edge) edges.set(`${edge.folder}: ${edge.from} → ${edge.to}`, `${edge.folder}: ${edge.to} → ${edge.from}`);
    }
  }
  const both = [...edges].filter(([edge, back]) => edge < back && edges.has(back));
  return both.map(([edge]) => edge.replace("→", "⇄"));
}

/** The deepest folder that holds both files, and what in it each of them stands in. */
function neighbours(path: string, target: string): { folder: string; from: string; to: string } | undefined {
  const [own, other] = [path.split("/"), target.split("/")];
  const shared = own.findIndex((name, index) => name !== other[index]);
  const [from, to] = [own, other].map((parts) => (shared < parts.length - 1 ? parts[shared]! : "."));
  const isTop = shared <= 2 && (from === "." || to === ".");
  return from === to || isTop ? undefined : { folder: own.slice(0, shared).join("/"), from: from!, to: to! };
}

/** Files with fewer than `least` lines that one file imports, unless that is a table which names most of their folder. */
export function scraps(least: number, sources: Source[]): string[] {
  const folderOf = (path: string): string => path.slice(0, path.lastIndexOf("/"));
  const isTableOf = (importer: Source, folder: string): boolean => {
    const entries = sources.filter(({ path }) => folderOf(path) === folder && path !== importer.path);
    return entries.filter(({ path }) => importer.imports.includes(path)).length > entries.length / 2;
  };
  return sources
    .filter(({ text }) => text.trimEnd().split("\n").length < least)
    .flatMap(({ path }) => {
      const importers = sources.filter(({ imports }) => imports.includes(path));
      const [only] = importers;
      return importers.length === 1 && !isTableOf(only!, folderOf(path)) ? [`${path}: only ${only!.path}`] : [];
    });
}
