/**
 * A process that serves a data folder, for the tests that kill it: `node embedded.testsuite.ts '{"dataFolder": …}'`.
 * Prints one JSON line when ready, ends at SIGTERM or SIGINT; on an operator's mistake prints one line and exits with 1.
 */
import { once } from "node:events";
import { OperatorError } from "../lib/errors.ts";
import { createLog } from "../lib/log/log.ts";
import { openEmbedded } from "./embedded.ts";

type Request = {
  dataFolder: string;
  url: string;
  rootFolders?: string;
  systemUsers?: string[];
  uid?: number;
  gid?: number;
};
/** The line printed when ready. */
export type Ready = { pid: number; postgres: number; dataFolder: string; socketFolder: string; readyMs: number };

async function serve({ uid, gid, ...options }: Request): Promise<void> {
  // Not earlier, so that this user need not be able to read the program.
  if (gid !== undefined) process.setgid!(gid);
  if (uid !== undefined) process.setuid!(uid);
  const stopped = Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
  await using embedded = await openEmbedded({ ...options, log: createLog("info") });
  const ready: Ready = {
    pid: process.pid,
    postgres: embedded.pid(),
    dataFolder: embedded.dataFolder,
    socketFolder: embedded.connection.host,
    readyMs: performance.now(),
  };
  process.stdout.write(`${JSON.stringify(ready)}\n`);
  const keepAlive = setInterval(() => {}, 60_000);
  await stopped;
  clearInterval(keepAlive);
}

serve(JSON.parse(process.argv[2]!) as Request).catch((error: unknown) => {
  process.exitCode = error instanceof OperatorError ? 1 : 70;
  process.stderr.write(`${error instanceof OperatorError ? error.message : (error as Error).stack}\n`);
});
