import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { makeFolder } from "./data-folder.ts";

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
