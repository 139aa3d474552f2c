/** Another commit beside this one: unpacked into a folder, installed by its own lock file and built by its own tools. */
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { ROOT, runToEnd } from "./launch.ts";

export type Checkout = { root: string; name: string };

const run = promisify(execFile);

/** `reference` is what git calls a commit. `folder` is the caller's, who removes it. */
export async function checkOut(reference: string, folder: string): Promise<Checkout> {
  const name = await shortHash(reference);
  const root = path.join(folder, name);
  const archive = path.join(folder, `${name}.tar`);
  fs.mkdirSync(root);
  await run("git", ["archive", "--output", archive, name], { cwd: ROOT });
  await run("tar", ["-xf", archive, "-C", root]);
  fs.rmSync(archive);
  if (!fs.existsSync(path.join(root, "tools/run.js"))) throw new Error(`${name} is too old: it has no tools/run.js`);
  if (isLockedAlike(root)) await linkPackages(root);
  await runToEnd(process.execPath, ["tools/run.js", "build"], root);
  return { root, name };
}

async function shortHash(reference: string): Promise<string> {
  const args = ["rev-parse", "--short", "--verify", "--quiet", "--end-of-options", `${reference}^{commit}`];
  try {
    return (await run("git", args, { cwd: ROOT })).stdout.trim();
  } catch {
    throw new Error(`--against takes a commit, and git knows none as ${reference}`);
  }
}

function isLockedAlike(root: string): boolean {
  const [theirs, ours] = [root, ROOT].map((folder) => fs.readFileSync(path.join(folder, "package-lock.json"), "utf8"));
  return theirs === ours;
}

/** As hard links: an install there cannot change ours. Across file systems there are none, and npm installs. */
async function linkPackages(root: string): Promise<void> {
  const packages = path.join(root, "node_modules");
  await run("cp", ["-al", path.join(ROOT, "node_modules"), packages]).catch(() =>
    fs.rmSync(packages, { recursive: true, force: true }),
  );
}
