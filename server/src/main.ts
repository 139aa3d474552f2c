/** The server: start, wait for the signal, stop. Facts for people go to stdout, the log to stderr. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { startApp, type App } from "./app.ts";
import { readConfig } from "./config.ts";
import { realClock } from "./lib/clock.ts";
import { OperatorError } from "./lib/errors.ts";
import { createLog } from "./lib/log.ts";

const PARENT_LOOK_EVERY_MS = 500;
/** One Ctrl-C may arrive up to three times within some ms: from the terminal, through npm, through the launcher. */
const SAME_SIGNAL_MS = 500;
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const version = (): string =>
  (JSON.parse(readFileSync(path.join(import.meta.dirname, "../package.json"), "utf8")) as { version: string }).version;

/** Resolves at the first signal. A second one ends the process at once; what was committed is resumed at the next start. */
function untilStopped(parent: number | undefined): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let first: number | undefined;
  const stop = (signal: string): void => {
    first ??= performance.now();
    if (performance.now() - first >= SAME_SIGNAL_MS) process.exit(1);
    resolve(signal);
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  const look = (): void => {
    if (process.ppid === parent) return;
    clearInterval(looking);
    resolve("the end of its parent");
  };
  const looking = setInterval(look, PARENT_LOOK_EVERY_MS).unref();
  if (parent === undefined) clearInterval(looking);
  else look();
  return promise;
}

/** With `--json` one line of JSON instead. */
function report(app: App, asJson: boolean): void {
  const { url, dataFolder, setupLink = null } = app;
  const graphql = `${url}/graphql`;
  if (asJson) return say(JSON.stringify({ version: version(), url, graphql, dataFolder, setupLink }));
  say(`Autograph ${version()}`);
  say(`GraphQL      ${graphql}`);
  say(`Data folder  ${dataFolder}`);
  if (setupLink) say(`Set up       ${setupLink}`);
  say(`ready at ${url}`);
}

async function main(): Promise<void> {
  const parent = process.argv.find((argument) => argument.startsWith("--parent="))?.slice("--parent=".length);
  const stopped = untilStopped(parent === undefined ? undefined : Number(parent));
  const config = readConfig(process.env, process.cwd());
  const log = createLog(config.logLevel);
  await using app = await startApp({ config, clock: realClock, log, random: Math.random });
  report(app, process.argv.includes("--json"));
  log.info({ signal: await stopped }, "stopping");
}

try {
  await main();
} catch (error) {
  if (!(error instanceof OperatorError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
process.exit();
