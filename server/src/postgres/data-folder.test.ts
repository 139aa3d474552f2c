import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { findDataFolder, makeFolder } from "./data-folder.ts";

test("a folder is made with all above it", () => {
  const base = fs.mkdtempSync(path.join(os.tmpdir(), "autograph-"));
  try {
    const folder = path.join(base, "a", "b");
    makeFolder(folder);
    makeFolder(folder);
    expect(fs.statSync(folder).mode & 0o777).toBe(0o700);
  } finally {
    fs.rmSync(base, { recursive: true });
  }
});

test.skipIf(process.platform !== "linux")("where nobody can make one it is refused at once", () => {
  expect(() => makeFolder("/proc/autograph/data")).toThrow(
    /^The data folder \/proc\/autograph\/data can't be written .*DATA_DIR/,
  );
});

test("a file is refused wherever it lies, also below a folder that only root can read", () => {
  const base = fs.mkdtempSync(path.join(os.tmpdir(), "autograph-"));
  try {
    const file = path.join(base, "file");
    fs.writeFileSync(file, "");
    expect(() => findDataFolder(file, path.join(base, "var"))).toThrow(
      /^The data folder .*file can't be written .*it is a file; .*DATA_DIR/,
    );
  } finally {
    fs.rmSync(base, { recursive: true });
  }
});
