/**
 * The database for a command that works next to the server: the running server's, or, if no server runs on the embedded
 * PostgreSQL, one started for the command and stopped after it. Anyone who may read the data folder may do this.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../../config.ts";
import { OperatorError } from "../../lib/errors.ts";
import { connectServer } from "../../storage/connect.ts";
import { openDatabase, type Database } from "../../storage/database.ts";
import { openEmbedded } from "../../postgres/embedded.ts";
import { migrate, MIGRATIONS, migrationsOf } from "../../storage/migrate.ts";
import { attachStorage } from "../../storage/open-storage.ts";
import type { CommandLine } from "../line/command-line.ts";
import { servingProcess } from "./server-address.ts";

export type Beside = {
  database: Database;
  /** Started for this command, so nobody else uses it. */
  isOwn: boolean;
} & AsyncDisposable;

/** A server that just started may still be creating its database. */
const STARTING_MS = 10_000;
const POLL_MS = 50;
/** Shown instead of a URL while a command runs PostgreSQL for itself. */
const COMMAND = "the command line, which ends in a moment";
const FEW = { hotConnections: 1, listConnections: 2 };

/** With the schema of this program. Throws OperatorError with one helpful line. */
export const openBeside = (line: CommandLine, config: Config): Promise<Beside> =>
  patiently(config, async () => withSchema(await open(line, config)));

/** The schema as it is, for `migrate`. */
export const openAsItIs = (line: CommandLine, config: Config): Promise<Beside> =>
  patiently(config, () => open(line, config));

/** Retries while a server starts or stops, or another command works: it is ready soon, or gone. */
async function patiently(config: Config, attempt: () => Promise<Beside>): Promise<Beside> {
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    const wasServed = servingProcess(config) !== undefined;
    try {
      return await attempt();
    } catch (error) {
      const mayChange = wasServed || servingProcess(config) !== undefined;
      if (!mayChange || waitedMs >= STARTING_MS) throw error;
    }
    await sleep(POLL_MS);
  }
}

async function open(line: CommandLine, config: Config): Promise<Beside> {
  const { databaseUrl, dataFolder } = config;
  const { log } = line;
  if (databaseUrl !== undefined) return shared(await connectServer(databaseUrl, log, FEW));
  const serving = servingProcess(config);
  if (!serving) return openOwn(line, config);
  if (serving.url === COMMAND) throw new OperatorError(`another command (${serving.pid}) is at work on ${dataFolder}`);
  const attached = await attachStorage({ dataFolder, log });
  if (!attached) throw new OperatorError(`the server on ${dataFolder} has no database yet: try again in a moment`);
  return shared(attached.database);
}

const shared = (database: Database): Beside => ({
  database,
  isOwn: false,
  [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
});

const openOwn = (line: CommandLine, config: Config): Promise<Beside> => line.ending.hold(startOwn(line, config));

async function startOwn({ log, ending: { lastActs } }: CommandLine, { dataFolder }: Config): Promise<Beside> {
  await using stack = new AsyncDisposableStack();
  const { connection } = stack.use(await openEmbedded({ dataFolder, log, url: COMMAND, lastActs }));
  const database = stack.use(openDatabase({ connection, isEmbedded: true, log, ...FEW }));
  const opened = stack.move();
  return { database, isOwn: true, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Leaves alone a schema that is not this program's: a command must not migrate under a running server. */
async function withSchema(beside: Beside): Promise<Beside> {
  await using stack = new AsyncDisposableStack();
  const { database, isOwn } = stack.use(beside);
  if (isOwn || (await migrationsOf(database)).length === 0) await migrate(database);
  const done = await migrationsOf(database);
  const known = Object.keys(MIGRATIONS);
  const isNewer = done.some((name) => !known.includes(name));
  if (isNewer || done.length < known.length) {
    const advice = isNewer ? "use the newer Autograph's command line" : "run `autograph migrate` first";
    throw new OperatorError(`the database's schema is ${isNewer ? "newer" : "older"} than this program: ${advice}`);
  }
  stack.move();
  return beside;
}
