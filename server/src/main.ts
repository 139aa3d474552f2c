/** The server: start, wait for the signal, stop. Facts for people go to stdout, the log to stderr. */
import { once } from "node:events";
import type { App } from "./app.ts";
import { readConfig } from "./config.ts";
import { realClock } from "./lib/clock.ts";
import { messageOf, OperatorError } from "./lib/errors.ts";
import { LastActs } from "./lib/last-acts.ts";
import { LIMITS } from "./lib/limits.ts";
import { createLog } from "./lib/log/log.ts";
import { VERSION } from "./lib/version.ts";

const OLDEST_NODE = 24;
const PARENT_LOOK_EVERY_MS = 500;
/** One Ctrl-C may arrive up to three times within some ms: from the terminal, through npm, through the launcher. */
const SAME_SIGNAL_MS = 500;
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Why the process ends, in the form of its log once there is one. */
type Tell = (text: string, error?: unknown) => void;

/**
 * Aborts at the first signal. A second one ends the process and PostgreSQL at once; the next start resumes what was committed. So
 * does a stop that takes too long.
 */
function untilStopped(parents: readonly number[], lastActs: LastActs, tell: Tell): AbortSignal {
  const stopping = new AbortController();
  const begin = (why: string): void => {
    if (stopping.signal.aborted) return;
    const tooLong = (): void => {
      tell(`the server did not stop within ${LIMITS.stopSeconds} s: it and its PostgreSQL are ended`);
      lastActs.end(1, true);
    };
    setTimeout(tooLong, LIMITS.stopSeconds * 1_000);
    stopping.abort(why);
  };
  let first: number | undefined;
  const stop = (signal: string): void => {
    first ??= performance.now();
    if (performance.now() - first >= SAME_SIGNAL_MS) lastActs.end(1, true);
    begin(signal);
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  const { ppid } = process;
  const look = (): void => {
    if (parents.every((pid) => (pid === ppid ? process.ppid === ppid : isTaken(pid)))) return;
    clearInterval(looking);
    begin("the end of its parent");
  };
  const looking = setInterval(look, PARENT_LOOK_EVERY_MS).unref();
  look();
  return stopping.signal;
}

function isTaken(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // It belongs to another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** `--parent=<pid>`, for each process whose end also ends ours: the supervisor (tools/supervise.sh) and npm before it. */
const parents = (): number[] =>
  process.argv.flatMap((argument) => {
    const [, pid] = /^--parent=(\d+)$/.exec(argument) ?? [];
    return pid === undefined ? [] : Number(pid);
  });

/** With `--json` one line of JSON instead. */
function report(app: App, asJson: boolean): void {
  const { url, dataFolder, metricsUrl: metrics, setupLink = null } = app;
  const graphql = `${url}/graphql`;
  if (asJson) return say(JSON.stringify({ version: VERSION, url, graphql, metrics, dataFolder, setupLink }));
  say(`Autograph ${VERSION}`);
  say(`GraphQL      ${graphql}`);
  if (metrics) say(`Metrics      ${metrics}`);
  say(`Data folder  ${dataFolder}`);
  if (setupLink) say(`Set up       ${setupLink}`);
  say(`ready at ${url}`);
}

/** `npm start` finds a recent enough Node by itself; this is for anyone who runs the built file by hand. */
function checkNode(): void {
  const { node } = process.versions;
  if (Number.parseInt(node, 10) >= OLDEST_NODE) return;
  throw new OperatorError(
    `Autograph needs Node.js ${OLDEST_NODE} or newer and this is ${node}: use \`npm start\`, which brings one`,
  );
}

const UNHANDLED = "an unhandled error ends the server; its PostgreSQL is stopped, and the next start goes on";

async function main(): Promise<void> {
  checkNode();
  const lastActs = new LastActs((code) => process.exit(code));
  let tell: Tell = (text, error) =>
    process.stderr.write(`${error === undefined ? text : `${text} (${messageOf(error)})`}\n`);
  lastActs.endOnUnhandled((error) => tell(UNHANDLED, error));
  const stopped = untilStopped(parents(), lastActs, (text) => tell(text));
  const config = readConfig(process.env, process.cwd());
  using log = createLog(config.logLevel);
  tell = (text, err) => log.error(err === undefined ? {} : { err }, text);
  // Mutes the complaints of everything that used PostgreSQL when it is gone.
  lastActs.add(async () => log.mute());
  // Not at the top: an older Node would fail on it before we could say anything.
  const { startApp } = await import("./app.ts");
  const options = { config, clock: realClock, log, random: Math.random, stopped, lastActs };
  await using app = await startApp(options).catch((error: unknown) => {
    if (stopped.aborted) return undefined;
    throw error;
  });
  if (!app) return;
  report(app, process.argv.includes("--json"));
  if (!stopped.aborted) await once(stopped, "abort");
  log.info({ signal: stopped.reason as string }, "stopping");
}

// The reader of our output may be gone, but the server serves others too.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
try {
  await main();
} catch (error) {
  if (!(error instanceof OperatorError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
process.exit();
