/**
 * Loaded into a server by `--import`: how long its main thread was held without a pause, in its own processor time, so that
 * what else the machine does counts for nothing. On SIGUSR2 it writes that of the time since the last one to `PROBE_FILE`.
 */
import fs from "node:fs";

const EVERY_MS = 2;
const file = process.env["PROBE_FILE"]!;
let before = process.threadCpuUsage();
let longestMs = 0;

const look = (): void => {
  const { user, system } = process.threadCpuUsage(before);
  longestMs = Math.max(longestMs, (user + system) / 1000);
  before = process.threadCpuUsage();
};

setInterval(look, EVERY_MS).unref();
process.on("SIGUSR2", () => {
  look();
  fs.writeFileSync(`${file}.new`, String(longestMs));
  fs.renameSync(`${file}.new`, file);
  longestMs = 0;
});
