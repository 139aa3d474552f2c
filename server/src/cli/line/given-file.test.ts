import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readGiven } from "./given-file.ts";

let cwd: string;
beforeAll(() => {
  cwd = mkdtempSync(path.join(os.tmpdir(), "autograph-test-"));
  writeFileSync(path.join(cwd, "four"), "four");
});
afterAll(() => rmSync(cwd, { recursive: true }));

const stdin = () => Readable.from([Buffer.from("pip"), Buffer.from("ed")]);
const read = async (file: string, most: number) => (await readGiven({ cwd, stdin }, file, most))?.toString();

test("a path is one from the folder where the command was typed, and - is stdin", async () => {
  expect(await read("four", 4)).toBe("four");
  expect(await read(path.join(cwd, "four"), 4)).toBe("four");
  expect(await read("-", 5)).toBe("piped");
  await expect(read("five", 4)).rejects.toThrow("ENOENT");
  await expect(read(".", 4)).rejects.toThrow("EISDIR");
});

test("a longer answer is not read to its end", async () => {
  expect(await read("four", 3)).toBeUndefined();
  expect(await read("-", 4)).toBeUndefined();
  let pieces = 0;
  const endless = Readable.from(
    (function* () {
      for (;;) yield Buffer.alloc(++pieces);
    })(),
  );
  expect(await readGiven({ cwd, stdin: () => endless }, "-", 100)).toBeUndefined();
  expect(pieces).toBeLessThan(100);
  expect(endless.destroyed).toBe(true);
});
