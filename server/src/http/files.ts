/** The web page's built files, by their path in the URL. */
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";

export type WebFile = {
  type: string;
  /** Its name changes with its content. */
  isHashed: boolean;
  read(): Promise<Uint8Array<ArrayBuffer>>;
};

const TYPES = new Map<string, string>(
  Object.entries({
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
  }),
);

/** Listed once, so that no request chooses a path; empty when the page was not built. */
export function readFiles(folder: string): ReadonlyMap<string, WebFile> {
  const files = new Map<string, WebFile>();
  for (const entry of listFolder(folder)) {
    const path = join(entry.parentPath, entry.name);
    const name = `/${relative(folder, path).split(sep).join("/")}`;
    const type = TYPES.get(extname(name));
    if (!entry.isFile() || !type) continue;
    files.set(name, {
      type,
      isHashed: name.startsWith("/assets/"),
      read: async () => new Uint8Array(await readFile(path)),
    });
  }
  const index = files.get("/index.html");
  if (index) files.set("/", index);
  return files;
}

function listFolder(folder: string) {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
