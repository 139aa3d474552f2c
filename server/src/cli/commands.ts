/** All commands, and what they share: how help and mistakes are shown. */
import { Command } from "commander";
import { VERSION } from "../lib/version.ts";
import { carryOut, createCommandLine, type CommandLine, type Outside } from "./command-line.ts";

type Add = (program: Command, line: CommandLine) => void;

/** In the order of the help. Loaded when wanted: all of them take 0.3 s, `run` alone a third of that. */
const COMMANDS: Record<string, () => Promise<Add>> = {
  start: async () => (await import("./start.ts")).addStart,
  setup: async () => (await import("./setup.ts")).addSetup,
  run: async () => (await import("./run.ts")).addRun,
  keys: async () => (await import("./keys.ts")).addKeys,
  user: async () => (await import("./users.ts")).addUsers,
  org: async () => (await import("./organizations.ts")).addOrganizations,
  migrate: async () => (await import("./migrate.ts")).addMigrate,
  sandbox: async () => (await import("./sandbox.ts")).addSandbox,
  demo: async () => (await import("./demo.ts")).addDemo,
};

/** Answers the exit code; the process ends by itself when nothing is open any more. */
export async function runCommandLine(args: readonly string[], outside: Outside): Promise<number> {
  const line = createCommandLine(outside);
  const program = createProgram(line);
  // Only the help and a mistyped name need all of them.
  const wanted = Object.entries(COMMANDS).filter(([name]) => name === args[0]);
  for (const [, load] of wanted.length > 0 ? wanted : Object.entries(COMMANDS)) (await load())(program, line);
  return carryOut(program, args, line);
}

const createProgram = ({ terminal }: CommandLine): Command =>
  new Command("autograph")
    .description("Automation agents behind one GraphQL API, self-hosted.")
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand(false)
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: (text) => terminal.say(text.trimEnd()),
      outputError: (text, write) => write(oneLine(text)),
    })
    .addHelpText("after", AFTER);

const AFTER = `
Data goes to stdout, everything else to stderr. Exit codes: 0 done, 1 refused or failed; \`run\` has more.
Settings (PORT, DATA_DIR, DATABASE_URL, …) come from the environment or from .env, as the server's do.`;

/** `error: unknown option '--jsno'\\n(Did you mean --json?)` → `autograph: unknown option '--jsno' (Did you mean --json?)`. */
const oneLine = (text: string): string =>
  text
    .trim()
    .replace(/^error: /, "autograph: ")
    .replaceAll(/\n+/g, " ");
