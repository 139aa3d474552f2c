/** The command line: `autograph <command>`. */
import { realClock } from "../lib/clock.ts";
import { runCommandLine } from "./commands.ts";
import { createTerminal } from "./terminal.ts";

const { env: environment, stdout, stderr } = process;

// A reader that has seen enough (`| head -1`) is no mistake.
stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));

process.exitCode = await runCommandLine(process.argv.slice(2), {
  environment,
  cwd: process.cwd(),
  clock: realClock,
  terminal: createTerminal({ stdout, stderr, environment }),
});
