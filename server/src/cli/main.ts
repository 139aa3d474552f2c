/** The command line: `autograph <command>`. */
import { realClock } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import { runCommandLine } from "./commands.ts";
import { createEnding, type Ending } from "./line/ending.ts";

const { env: environment, stdout, stderr } = process;
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
/** One Ctrl-C may arrive up to three times within some ms: from the terminal, through npm, through the launcher. */
const SAME_SIGNAL_MS = 500;

function endWithSignals(ending: Ending): void {
  let first: number | undefined;
  const stop = (signal: NodeJS.Signals): void => {
    first ??= performance.now();
    if (performance.now() - first >= SAME_SIGNAL_MS) return ending.lastActs.end(1, true);
    ending.end(() => {
      for (const name of SIGNALS) process.off(name, stop);
      process.kill(process.pid, signal);
    });
  };
  for (const name of SIGNALS) process.on(name, stop);
}

function endWithStdout(ending: Ending): void {
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    // A reader that has seen enough (`| head -1`) is not an error.
    if (error.code === "EPIPE") return ending.end(() => process.exit(0));
    stderr.write(`autograph: stdout can't be written (${error.message})\n`);
    ending.end(() => process.exit(1));
  });
  stderr.on("error", () => {});
}

const ending = createEnding((code) => process.exit(code));
// `start` runs the server in this process, which handles both itself.
if (process.argv[2] !== "start") {
  endWithSignals(ending);
  endWithStdout(ending);
  ending.lastActs.endOnUnhandled((error) => stderr.write(`autograph: ${messageOf(error)} (an error of the program)\n`));
}
process.exitCode = await runCommandLine(process.argv.slice(2), {
  environment,
  cwd: process.cwd(),
  clock: realClock,
  stdin: () => process.stdin,
  stdout,
  stderr,
  ending,
});
