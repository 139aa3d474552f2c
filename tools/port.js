// Looks at the server's port before minutes are spent on installing and building for it.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import * as util from "node:util";
import { Stop } from "./launch.js";

/**
 * The settings as server/src/config.ts reads them. Undefined where this Node cannot (before 20.12): the server will look itself.
 * @param {NodeJS.ProcessEnv} env @param {string} cwd
 */
function settings(env, cwd) {
  /** @type {NodeJS.Dict<string>} */
  let file = {};
  try {
    const text = readFileSync(join(cwd, ".env"), "utf8");
    if (util.parseEnv === undefined) return undefined;
    file = util.parseEnv(text);
  } catch {
    // None.
  }
  const read = (/** @type {string} */ name) => env[name]?.trim() || file[name]?.trim();
  return { port: read("PORT") ?? "4400", host: read("HOST") ?? "127.0.0.1" };
}

/** Stops if something listens there. The server itself reports any other mistake in the settings. @param {NodeJS.ProcessEnv} env @param {string} cwd */
export async function refuseTakenPort(env = process.env, cwd = process.cwd()) {
  const { port, host } = settings(env, cwd) ?? {};
  if (port === undefined || !/^\d{1,5}$/.test(port) || Number(port) > 65_535) return;
  const server = createServer().listen(Number(port), host);
  try {
    await once(server, "listening");
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== "EADDRINUSE") return;
    throw new Stop(
      `port ${port} of ${host} is in use: stop what listens there, or set PORT to another (0 takes a free one)`,
    );
  }
  server.close();
  await once(server, "close");
}
