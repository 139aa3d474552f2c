/** The UI's built files, by their path in the URL. */
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";

export type WebFile = {
  type: string;
  /** Its name changes with its content. */
  isHashed: boolean;
  /** Encodings in which it lies beside itself, the smallest first. */
  encodings: readonly Encoding[];
  /** The same bytes for every response: readers that take nothing hold no copies. A read that failed is tried again. */
  read(encoding?: Encoding): Promise<Uint8Array<ArrayBuffer>>;
};

/** As a request's Accept-Encoding names it, and the end of the file's name. */
const ENCODINGS = { br: ".br", gzip: ".gz" } as const;
export type Encoding = keyof typeof ENCODINGS;
const NAMES = Object.keys(ENCODINGS) as Encoding[];

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

/** Listed once, so that no request chooses a path; empty when the UI was not built. */
export function readFiles(folder: string): ReadonlyMap<string, WebFile> {
  const paths = listFolder(folder)
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const all = new Set(paths);
  const files = new Map<string, WebFile>();
  for (const path of paths) {
    const name = `/${relative(folder, path).split(sep).join("/")}`;
    const type = TYPES.get(extname(name));
    if (!type) continue;
    files.set(name, {
      type,
      isHashed: name.startsWith("/assets/"),
      encodings: NAMES.filter((encoding) => all.has(path + ENCODINGS[encoding])),
      read: keeper(async (encoding) => new Uint8Array(await readFile(encoding ? path + ENCODINGS[encoding] : path))),
    });
  }
  return files;
}

/** Reads each encoding once. All files of the UI together are 3 MB. */
function keeper(read: WebFile["read"]): WebFile["read"] {
  const kept = new Map<Encoding | undefined, ReturnType<WebFile["read"]>>();
  return (encoding) => {
    const bytes = kept.get(encoding) ?? read(encoding);
    kept.set(encoding, bytes);
    bytes.catch(() => kept.delete(encoding));
    return bytes;
  };
}

/** The first of the file's encodings that the client takes; undefined: as it is. */
export const encodingFor = ({ encodings }: WebFile, accepted = ""): Encoding | undefined =>
  encodings.find((encoding) =>
    new RegExp(`(^|,)\\s*${encoding}\\s*(;\\s*q=(?!0(\\.0*)?\\s*(,|$))[^,]*)?(,|$)`).test(accepted),
  );

function listFolder(folder: string) {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
