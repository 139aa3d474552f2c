/**
 * The contents of a disk after its power went away: of PostgreSQL's data only what was written before the last checkpoint
 * is sure, any later write of a page may be there or not, whole or torn, and the write-ahead log ends where it was last
 * flushed. Built from copies, because a real cut needs the machine's power or a kernel that drops unflushed pages.
 */
import fs from "node:fs";
import path from "node:path";
import type { Random } from "./random.ts";

/** Disks write sectors: a page of PostgreSQL (8 kB) is torn between two of them. */
const SECTOR_BYTES = 512;
const SEGMENT_BYTES = 16 * 1024 * 1024;
const LOG = "pg_wal";
const CONTROL = "global/pg_control";

/** Copies the files of a running PostgreSQL as they are at the time, its log apart; what vanishes meanwhile is left out. */
export function copyPages(cluster: string, to: string): void {
  fs.mkdirSync(to, { recursive: true });
  for (const name of fs.readdirSync(cluster)) {
    if (name === LOG || name.startsWith("postmaster.")) continue;
    try {
      fs.cpSync(path.join(cluster, name), path.join(to, name), { recursive: true, preserveTimestamps: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
}

/**
 * Leaves in `cluster` what the cut leaves: of each sector the one of `sure` (the last checkpoint) or, by chance, the one of
 * `later`; of the log nothing behind `flushed` (an LSN, `0/1A2B3C4`). Owner and mode of its folders stay.
 */
export function cutPower(
  cluster: string,
  {
    sure,
    later,
    flushed,
    chance,
    random,
  }: { sure: string; later: string; flushed: string; chance: number; random: Random },
): void {
  fs.rmSync(path.join(cluster, "postmaster.pid"), { force: true });
  for (const file of filesOf(cluster)) {
    // The control file is flushed with each write.
    if (file.startsWith(LOG) || file === "postmaster.opts" || file === CONTROL) continue;
    const [old, young] = [sure, later].map((folder) => readOr(path.join(folder, file)));
    const left = mix(old, young, chance, random);
    if (left) fs.writeFileSync(path.join(cluster, file), left);
    else fs.rmSync(path.join(cluster, file));
  }
  for (const file of filesOf(sure)) {
    if (!fs.existsSync(path.join(cluster, file))) fs.copyFileSync(path.join(sure, file), path.join(cluster, file));
  }
  cutLog(path.join(cluster, LOG), flushed);
}

const filesOf = (folder: string): string[] =>
  fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));

const readOr = (file: string): Buffer | undefined => (fs.existsSync(file) ? fs.readFileSync(file) : undefined);

/** A file that is only in one of them is there by chance. */
function mix(old: Buffer | undefined, young: Buffer | undefined, chance: number, random: Random): Buffer | undefined {
  if (!old || !young) return old ?? (random.next() < chance ? young : undefined);
  const mixed = Buffer.from(old.length >= young.length || random.next() >= chance ? old : grown(old, young.length));
  for (let at = 0; at < Math.min(young.length, mixed.length); at += SECTOR_BYTES) {
    const end = Math.min(at + SECTOR_BYTES, young.length);
    if (random.next() < chance) young.copy(mixed, at, at, end);
  }
  return mixed;
}

/** A file is made longer before its new pages are written. */
const grown = (old: Buffer, length: number): Buffer => Buffer.concat([old, Buffer.alloc(length - old.length)]);

/** Zeros behind the LSN, in its segment and all later ones. */
function cutLog(folder: string, lsn: string): void {
  const [high, low] = lsn.split("/").map((word) => Number.parseInt(word, 16)) as [number, number];
  const segment = Math.floor(low / SEGMENT_BYTES);
  const position = high * (2 ** 32 / SEGMENT_BYTES) + segment;
  for (const name of fs.readdirSync(folder)) {
    if (!/^[0-9A-F]{24}$/.test(name)) continue;
    const own =
      Number.parseInt(name.slice(8, 16), 16) * (2 ** 32 / SEGMENT_BYTES) + Number.parseInt(name.slice(16), 16);
    const from = own > position ? 0 : own < position ? SEGMENT_BYTES : low % SEGMENT_BYTES;
    const file = path.join(folder, name);
    const text = fs.readFileSync(file);
    fs.writeFileSync(file, text.fill(0, from));
  }
}
