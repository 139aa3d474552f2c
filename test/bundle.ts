/**
 * The programs that the tests start hundreds of times, made as the built server is (tools/bundle.js): the server of the tests, the real one, the
 * command line (as a process and as a function), and the programs that the tests of rooms start and kill. It is the global set-up of each of vitest's projects that starts processes, and builds
 * where sources have changed.
 */
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { fingerprint } from "../tools/build.js";
import { bundle } from "../tools/bundle.js";

const ROOT = path.join(import.meta.dirname, "..");
const SERVER = path.join(ROOT, "server");
const NAME = ".dist-tests-";
/** Another run of the tests may be using it. */
const KEPT_MS = 6 * 3_600_000;
const SOURCES = {
  server: "test/server.ts",
  main: "server/src/main.ts",
  "cli/main": "server/src/cli/main.ts",
  "cli/commands": "server/src/cli/commands.ts",
  "postgres/embedded.testsuite": "server/src/postgres/embedded.testsuite.ts",
  "storage/storage.testsuite": "server/src/storage/storage.testsuite.ts",
  "engine/ticking.testsuite": "server/src/engine/ticking.testsuite.ts",
  "rates/stopping.testsuite": "server/src/rates/stopping.testsuite.ts",
};
const MADE_FROM = [
  "package-lock.json",
  "tools/bundle.js",
  "server/src",
  // Its test suites are not looked at otherwise.
  ...Object.values(SOURCES).filter((file) => file.endsWith(".testsuite.ts")),
  "server/src/engine/leases.testsuite.ts",
  "test",
];

/** The file to start: the bundle where this is a test, else the source. */
export const bundled = (entry: keyof typeof SOURCES): string => {
  const folder = process.env["TEST_BUNDLE"];
  return folder === undefined ? path.join(ROOT, SOURCES[entry]) : path.join(folder, `${entry}.js`);
};

export default async function setup(): Promise<void> {
  const hash = createHash("sha256").update(fingerprint(MADE_FROM)).digest("hex").slice(0, 16);
  const folder = path.join(SERVER, NAME + hash);
  if (!fs.existsSync(folder)) await build(folder);
  process.env["TEST_BUNDLE"] = folder;
}

async function build(folder: string): Promise<void> {
  const beside = fs.mkdtempSync(path.join(SERVER, `${NAME}new-`));
  await bundle(
    beside,
    Object.fromEntries(Object.entries(SOURCES).map(([entry, source]) => [entry, path.join(ROOT, source)])),
  );
  try {
    fs.renameSync(beside, folder);
  } catch {
    // Somebody else made it meanwhile.
    fs.rmSync(beside, { recursive: true, force: true });
  }
  for (const name of fs.readdirSync(SERVER)) {
    const madeAt = fs.statSync(path.join(SERVER, name), { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
    if (name.startsWith(NAME) && Date.now() - madeAt > KEPT_MS)
      fs.rmSync(path.join(SERVER, name), { recursive: true, force: true });
  }
}
