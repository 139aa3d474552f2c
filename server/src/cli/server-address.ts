/** Where the server is, for commands that are clients of its API or say how to reach it. */
import { readFileSync, readlinkSync } from "node:fs";
import { readConfig, SETTINGS, type Config } from "../config.ts";
import { OperatorError } from "../lib/errors.ts";
import { findDataFolder } from "../storage/data-folder.ts";
import { instanceOf, type Instance } from "../storage/instance-lock.ts";

/** The process that serves the data folder; undefined with DATABASE_URL, where nothing tells. */
export function servingProcess({ databaseUrl, dataFolder }: Config): Instance | undefined {
  return databaseUrl === undefined ? instanceOf(findDataFolder(dataFolder).folder) : undefined;
}

/**
 * Without a slash at the end. `--url` first, then PUBLIC_URL, then HOST and PORT; when PORT was not chosen, or is 0 for
 * any free one, the server that runs on the data folder is asked for its own.
 */
export function serverUrl(config: Config, given?: string): string {
  if (given !== undefined) return checkedUrl(given);
  if (config.publicUrl !== undefined) return config.publicUrl;
  const isChosen = config.port !== 0 && config.port !== Number(SETTINGS.PORT.standard);
  const serving = isChosen ? undefined : servingProcess(config);
  return serving && URL.canParse(serving.url) ? serving.url : `http://${reachable(config.host)}:${config.port}`;
}

function checkedUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol)) return url.href.replace(/\/+$/, "");
  throw new OperatorError(`--url must be an http or https URL like http://127.0.0.1:4400, not ${text}`);
}

/** A server that listens on all addresses is reached on loopback. */
function reachable(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}

export function isLoopbackUrl(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === "localhost" || hostname === "[::1]" || /^127\.[\d.]+$/.test(hostname);
}

/** True when runs are accepted there. */
export const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`, { signal: AbortSignal.timeout(READY_TIMEOUT_MS) }).then(
    (response) => response.ok,
    () => false,
  );
const READY_TIMEOUT_MS = 5_000;

/**
 * The settings that the running server has, which need not be those of this command: read from its process on Linux.
 * Elsewhere, and with DATABASE_URL, this command's own are the best guess.
 */
export function serversConfig(config: Config): Config {
  const serving = servingProcess(config);
  if (!serving) return config;
  try {
    const pairs = readFileSync(`/proc/${serving.pid}/environ`, "utf8").split("\0");
    const environment = Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/s).slice(0, 2) as [string, string]));
    return readConfig(environment, readlinkSync(`/proc/${serving.pid}/cwd`));
  } catch {
    return config;
  }
}
