import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vite";

const server = JSON.parse(readFileSync(join(import.meta.dirname, "../server/package.json"), "utf8")) as {
  version: string;
};

export default defineConfig({
  // PUBLIC_URL may carry a path: every URL in the page is relative.
  base: "./",
  define: { __VERSION__: JSON.stringify(server.version) },
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
});
