import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";
import { PROFILE } from "../server/src/definition/profile/profile.ts";
import { languageOf } from "./language.ts";

const server = JSON.parse(readFileSync(join(import.meta.dirname, "../server/package.json"), "utf8")) as {
  version: string;
};

/** Smaller ones fit into one packet as they are. */
const LEAST_BYTES = 1_024;

/** Packages of the editor, 340 kB: a page without one does without them. */
const EDITOR = /[\\/](editor-look\.ts|node_modules[\\/](@codemirror|@lezer)[\\/].*)$/;
/**
 * Bytes of source: less than this joins what is shared by almost the same pages. Files that are joined may come to import each other
 * (`oneWay`): from 30,000 on they did.
 */
const SHARED_LEAST_BYTES = 10_000;

/**
 * Each file is a request, which costs the server and the browser more than a few bytes that a page does not need: what every page
 * needs is one file, and what some pages share is few.
 */
const codeSplitting = {
  groups: [
    { name: "first", tags: ["$initial" as const], priority: 2 },
    { name: "shared", test: EDITOR, minShareCount: 2, entriesAware: true, priority: 1 },
    { name: "shared", minShareCount: 2, entriesAware: true, entriesAwareMergeThreshold: SHARED_LEAST_BYTES },
  ],
};

/** The bundler's own name of a shared file lists all its pages. */
const nameOf = ({ name }: { name: string }): string => `assets/${name.replace(/~.*/, "")}-[hash].js`;

/** Writes each file a second and a third time, compressed as far as it goes, so that the server compresses nothing. */
const compressed = (): Plugin => ({
  name: "compressed",
  writeBundle({ dir }) {
    const names = readdirSync(dir!, { recursive: true, encoding: "utf8" });
    for (const name of names.filter((one) => /\.(js|css|svg)$/.test(one))) {
      const bytes = readFileSync(join(dir!, name));
      if (bytes.length < LEAST_BYTES) continue;
      const params = { [constants.BROTLI_PARAM_QUALITY]: 11 };
      writeFileSync(join(dir!, `${name}.br`), brotliCompressSync(bytes, { params }));
      writeFileSync(join(dir!, `${name}.gz`), gzipSync(bytes, { level: 9 }));
    }
  },
});

/**
 * Refuses files that import each other: one of them runs before what it uses is there, and which one depends on the page that is
 * opened first.
 */
const oneWay = (): Plugin => ({
  name: "one-way",
  generateBundle(_, bundle) {
    const importsOf = (name: string): string[] => {
      const file = bundle[name];
      return file?.type === "chunk" ? file.imports : [];
    };
    const done = new Set<string>();
    const follow = (name: string, way: readonly string[]): void => {
      if (way.includes(name)) this.error(`files of the UI import each other: ${[...way, name].join(" → ")}`);
      if (done.has(name)) return;
      for (const next of importsOf(name)) follow(next, [...way, name]);
      done.add(name);
    };
    for (const name of Object.keys(bundle)) follow(name, []);
  },
});

export default defineConfig({
  // PUBLIC_URL may carry a path: the server writes it before these (http/pages/pages.ts).
  base: "./",
  // Each answer has its own (http/pages/pages.ts).
  html: { cspNonce: "__CSP_NONCE__" },
  define: { __VERSION__: JSON.stringify(server.version), __LANGUAGE__: JSON.stringify(languageOf(PROFILE)) },
  plugins: [oneWay(), compressed()],
  build: {
    target: "es2023",
    // Those that know light-dark(): in others each colour would be a property that nothing sets.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // kB. What the first page weighs is held by test/ui/frame.test.ts.
    chunkSizeWarningLimit: 600,
    rolldownOptions: {
      output: { codeSplitting, chunkFileNames: nameOf },
      // Mantine's "use client", which says nothing here, a warning for each of its files.
      onLog: (level, log, handle) => void (log.code !== "MODULE_LEVEL_DIRECTIVE" && handle(level, log)),
    },
  },
});
