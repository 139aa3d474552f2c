// One process at a time installs or builds: two starts at once in a fresh clone would trample each other.
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ROOT, Stop, say } from "./launch.js";

const POLL_MS = 100;
const LONGEST_WAIT_MS = 600_000;

/** @typedef {(child: {pid?: number | undefined}) => void} Holds */

/**
 * Runs `work` while holding the lock file, and passes it a function that adds a child: after `kill -9` of the holder
 * its `npm ci` may still be writing, so the lock counts as held until all its processes have ended.
 * @template T
 * @param {(holds: Holds) => Promise<T>} work
 * @param {string} [file]
 * @returns {Promise<T>}
 */
export async function withLock(work, file = join(ROOT, ".cache", "prepare.lock")) {
  mkdirSync(dirname(file), { recursive: true });
  const token = `${process.pid}-${process.hrtime.bigint()}`;
  await taken(file, token);
  try {
    return await work(({ pid }) => pid !== undefined && appendFileSync(file, ` ${pid}`));
  } finally {
    rmSync(file, { force: true });
  }
}

/** @param {string} file @param {string} token */
async function taken(file, token) {
  for (let waited = 0; !create(file, `${token} ${process.pid}`); waited += POLL_MS) {
    const [holder = "", ...pids] = read(file).split(" ");
    if (holder !== "" && !pids.some((pid) => isAlive(Number(pid)))) release(file, holder);
    else if (waited === 1000) say(`waiting for process ${pids.join(", ")}, which installs or builds`);
    else if (waited > LONGEST_WAIT_MS)
      throw new Stop(`${file} is held by process ${pids.join(", ")}; if not, remove it`);
    await sleep(POLL_MS);
  }
}

/**
 * Only one of several that find a dead holder may remove its lock, or the second would remove the first one's new lock.
 * @param {string} file @param {string} holder
 */
function release(file, holder) {
  const claim = `${file}.${holder}`;
  if (!create(claim, "")) return;
  if (read(file).startsWith(`${holder} `)) rmSync(file, { force: true });
  rmSync(claim, { force: true });
}

/** @param {string} file @param {string} text */
function create(file, text) {
  try {
    writeFileSync(file, text, { flag: "wx" });
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === "EEXIST") return false;
    throw new Stop(`cannot write ${file}: ${/** @type {Error} */ (error).message}`);
  }
}

/** @param {string} file */
function read(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EPERM";
  }
}
