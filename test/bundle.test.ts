/** The text of the built server: that it works is in every other test here, which start it. */
import fs from "node:fs";
import { builtinModules } from "node:module";
import path from "node:path";
import { expect, test } from "vitest";
import { bundled } from "./bundle.ts";

const FOLDER = path.dirname(bundled("main"));
/** They have files of their own, are made for the machine, or are wanted only where somebody installs them (voice over Mistral). */
const APART = ["@node-rs/argon2", "jq-wasm", "quickjs-wasi", "pg-native", "livekit-client"];

const files = fs
  .readdirSync(FOLDER, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".js"))
  .map((name) => fs.readFileSync(path.join(FOLDER, name), "utf8"));

test("imports none of its packages but those that can't be in it", () => {
  const imported = files.flatMap((text) => [
    ...text.matchAll(/^(?:import|export) (?:[^"';]* from )?"([^."][^"]*)";$|\bimport\("([^."][^"]*)"\)/gm),
  ]);
  const names = imported.map(([, fixed, later]) => (fixed ?? later)!).filter((name) => !name.startsWith("node:"));
  expect(new Set(names).difference(new Set([...builtinModules, ...APART]))).toEqual(new Set());
});

test("holds graphql once: what one copy makes the other one refuses", () => {
  expect(files.join("\n").match(/\bvar GraphQLSchema\S* = class\b|\bclass GraphQLSchema\b/g)).toHaveLength(1);
});

test("an older Node can read it, to be told that it is too old", () => {
  expect(files.join("\n")).not.toMatch(/^\s*(?:await )?using \w+ = /m);
});

test("a line says which source it is of", () => {
  expect(files.join("\n")).toMatch(/^\/\/ server\/src\/app\.ts$/m);
});
