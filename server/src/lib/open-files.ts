/** How many files and sockets the process may have open. */
import fs from "node:fs";

/** The default on macOS; Linux can be asked. */
const USUAL = 10_240;

export function openFilesMost(): number {
  try {
    // Node raises the soft limit to the hard one when it starts.
    const found = /^Max open files\s+(\d+)/m.exec(fs.readFileSync("/proc/self/limits", "utf8"));
    return found ? Number(found[1]) : USUAL;
  } catch {
    return USUAL;
  }
}
