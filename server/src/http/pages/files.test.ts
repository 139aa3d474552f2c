import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readFiles } from "./files.ts";

function folderWith(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), "autograph-files-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

test("all responses have the same bytes, each encoding its own", async () => {
  const files = readFiles(folderWith({ "a.js": "whole", "a.js.br": "small" }));
  const file = files.get("/a.js")!;
  expect(await file.read()).toBe(await file.read());
  expect(await file.read("br")).toBe(await file.read("br"));
  const textOf = async (bytes: Promise<Uint8Array>): Promise<string> => new TextDecoder().decode(await bytes);
  expect([await textOf(file.read()), await textOf(file.read("br"))]).toEqual(["whole", "small"]);
});

test("a read that failed is tried again", async () => {
  const folder = folderWith({ "a.js": "text" });
  const file = readFiles(folder).get("/a.js")!;
  rmSync(join(folder, "a.js"));
  await expect(file.read()).rejects.toThrow("ENOENT");
  writeFileSync(join(folder, "a.js"), "text");
  expect(await file.read()).toHaveLength(4);
});
