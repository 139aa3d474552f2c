import fs from "node:fs";

/** Written aside, synced and renamed into place: a crash leaves either the old file or the new one. */
export function writeWhole(file: string, text: string, mode: number): void {
  const draft = `${file}.draft`;
  fs.rmSync(draft, { force: true });
  const descriptor = fs.openSync(draft, "wx", mode);
  try {
    // Whatever the umask: PostgreSQL's user must read the rules.
    fs.fchmodSync(descriptor, mode);
    fs.writeFileSync(descriptor, text);
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
  fs.renameSync(draft, file);
}
