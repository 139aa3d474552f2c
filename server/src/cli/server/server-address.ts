/** Where the server is, for commands that are clients of its API or say how to reach it. */
import { readFileSync, readlinkSync } from "node:fs";
import { readConfig, SETTINGS, type Config, type Environment } from "../../config.ts";
import { OperatorError } from "../../lib/errors.ts";
import { withoutLast } from "../../lib/text.ts";
import { findDataFolder } from "../../postgres/data-folder.ts";
import { instanceOf, type Instance } from "../../postgres/instance-lock.ts";
import type { CommandLine } from "../line/command-line.ts";

/** The process that serves the data folder; undefined with DATABASE_URL, where we can't know. */
export function servingProcess({ databaseUrl, dataFolder }: Config): Instance | undefined {
  return databaseUrl === undefined ? instanceOf(findDataFolder(dataFolder).folder) : undefined;
}

/**
 * Without a slash at the end. `--url` first; then the server that runs on the data folder, if the settings name no other;
 * then PUBLIC_URL; then HOST and PORT.
 */
export function serverUrl(config: Config, given?: string): string {
  if (given !== undefined) return checkedUrl(given);
  const serving = servingProcess(config);
  const besideUrl = serving && urlFromHere(serving);
  if (config.publicUrl !== undefined)
    return besideUrl !== undefined && config.publicUrl === serving?.url ? besideUrl : config.publicUrl;
  const isChosen = config.port !== 0 && config.port !== Number(SETTINGS.PORT.standard);
  return (isChosen ? undefined : besideUrl) ?? `http://${reachable(config.host)}:${config.port}`;
}

/**
 * The server to which a credential of the user may go. Throws OperatorError if only the current folder names it: anybody may have
 * written its `.env`, or the entry of a server in its `data`.
 */
export function serverUrlFor(line: Pick<CommandLine, "config" | "environment" | "cwd">, given?: string): string {
  const config = line.config();
  const url = serverUrl(config, given);
  if (given !== undefined || url === urlBeside(line.environment, line.cwd)) return url;
  throw new OperatorError(
    `only the folder ${line.cwd} names the server ${url}, so no credential is sent there: give --url ${url} if it is yours`,
  );
}

/** The server that the environment names. The default data folder is believed only about this machine. Undefined: it names none. */
function urlBeside(environment: Environment, cwd: string): string | undefined {
  try {
    const url = serverUrl(readConfig(environment, cwd, {}));
    return (environment["DATA_DIR"] ?? environment["PUBLIC_URL"]) || isLoopbackUrl(url) ? url : undefined;
  } catch (error) {
    if (error instanceof OperatorError) return undefined;
    throw error;
  }
}

/**
 * The public URL leads through a proxy, which this machine may not reach by that name. On loopback the server takes
 * requests for itself whatever its public name is; elsewhere for that name alone.
 */
function urlFromHere({ url, localUrl }: Instance): string | undefined {
  return [localUrl, url].find((one) => one !== undefined && URL.canParse(one) && (one === url || isLoopbackUrl(one)));
}

function checkedUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // A path is appended to it, and no request takes a user from it.
  if (url && /^https?:$/.test(url.protocol) && !(url.search || url.hash || url.username || url.password))
    return withoutLast(`${url.origin}${url.pathname}`, "/");
  throw new OperatorError(
    `--url must be an http or https URL without query, fragment and user, like http://127.0.0.1:4400, not ${text}`,
  );
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

/** The running server's settings, which may differ from this command's. */
export type ServersConfig = {
  config: Config;
  /** Their source: the server's own process, or this command's environment if no server runs or it can't be asked. */
  from: "server" | "no server" | "own";
};

/** Read from the server's process on Linux. With DATABASE_URL we can't know which process that is. */
export function serversConfig(config: Config): ServersConfig {
  if (config.databaseUrl !== undefined) return { config, from: "own" };
  const serving = servingProcess(config);
  if (!serving) return { config, from: "no server" };
  try {
    const pairs = readFileSync(`/proc/${serving.pid}/environ`, "utf8").split("\0");
    const environment = Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/s).slice(0, 2) as [string, string]));
    return { config: readConfig(environment, readlinkSync(`/proc/${serving.pid}/cwd`)), from: "server" };
  } catch {
    return { config, from: "own" };
  }
}
