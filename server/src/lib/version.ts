/** The program's version, from the package.json of the workspace that this file is built from. */
import { readFileSync } from "node:fs";

export const VERSION = (
  JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string }
).version;
