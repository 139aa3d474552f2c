/**
 * The API key that `setup` keeps in the data folder, so that the commands beside the server need none given. The file holds
 * the key alone (`$(cat data/api.key)`); anyone who can read it can read PostgreSQL's password, too.
 */
import { readFileSync, rmSync } from "node:fs";
import path from "node:path";
import type { Config } from "../../config.ts";
import { messageOf, OperatorError } from "../../lib/errors.ts";
import { findDataFolder, makeFolder } from "../../postgres/data-folder.ts";
import { writeWhole } from "../../postgres/write-whole.ts";
import type { CommandLine } from "../line/command-line.ts";
import { serverUrl, servingProcess } from "./server-address.ts";

type KeptKey = { key: string; file: string };

const OWNER_ONLY = 0o600;

/** Where `secret.key` is: only PostgreSQL's user can make the folder another one than the setting says. */
const fileIn = ({ databaseUrl, dataFolder }: Config): string =>
  path.join(databaseUrl === undefined ? findDataFolder(dataFolder).folder : path.resolve(dataFolder), "api.key");

/** Replaces an older one. Returns the file, or why it can't be kept: the key itself exists already. */
export function keepKey({ terminal }: CommandLine, config: Config, key: string): string | undefined {
  const file = fileIn(config);
  try {
    makeFolder(path.dirname(file));
    writeWhole(file, `${key}\n`, OWNER_ONLY);
    return file;
  } catch (error) {
    terminal.say(`autograph: the key can't be kept in ${file} (${messageOf(error)}): set AUTOGRAPH_API_KEY to it`);
    return undefined;
  }
}

/** The kept key, if the server at `url` is the one beside it. Throws OperatorError if we may not read it. */
export function keptKey(config: Config, url: string): KeptKey | undefined {
  if (!isBeside(config, url)) return undefined;
  const file = fileIn(config);
  try {
    const key = readFileSync(file, "utf8").trim();
    return key === "" ? undefined : { key, file };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new OperatorError(
      `the kept API key can't be read (${messageOf(error)}): be the user that ran setup, or set AUTOGRAPH_API_KEY`,
    );
  }
}

export const forgetKey = ({ file }: KeptKey): void => rmSync(file, { force: true });

/**
 * The key goes to the process that serves the data folder, at a URL which that process recorded: another URL may be
 * another machine, and a port on which nobody of ours listens may be another user's. With DATABASE_URL no process is
 * recorded, and this command's own settings say where the server is.
 */
function isBeside(config: Config, url: string): boolean {
  if (config.databaseUrl !== undefined) return url === serverUrl(config);
  const serving = servingProcess(config);
  return serving !== undefined && (url === serving.url || url === serving.localUrl);
}
