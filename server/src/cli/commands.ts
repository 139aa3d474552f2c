/** All commands, and what they share: how help and mistakes are shown. */
import { Command } from "commander";
import { VERSION } from "../lib/version.ts";
import { carryOut, createCommandLine, type CommandLine, type Outside } from "./line/command-line.ts";

type Add = (program: Command, line: CommandLine) => void;

/** In the order of the help. Loaded on demand: all of them take 0.3 s, `run` alone a third of that. */
const COMMANDS: Record<string, () => Promise<Add>> = {
  start: async () => (await import("./commands/start.ts")).addStart,
  setup: async () => (await import("./commands/setup.ts")).addSetup,
  publish: async () => (await import("./commands/publish.ts")).addPublish,
  validate: async () => (await import("./commands/validate.ts")).addValidate,
  run: async () => (await import("./commands/run.ts")).addRun,
  runs: async () => (await import("./commands/runs.ts")).addRuns,
  approvals: async () => (await import("./commands/approvals.ts")).addApprovals,
  agents: async () => (await import("./commands/agents.ts")).addAgents,
  projects: async () => (await import("./commands/projects.ts")).addProjects,
  mcp: async () => (await import("./commands/mcp.ts")).addMcp,
  keys: async () => (await import("./commands/keys.ts")).addKeys,
  secrets: async () => (await import("./commands/secrets.ts")).addSecrets,
  tokens: async () => (await import("./commands/tokens.ts")).addTokens,
  members: async () => (await import("./commands/members.ts")).addMembers,
  invitations: async () => (await import("./commands/invitations.ts")).addInvitations,
  sessions: async () => (await import("./commands/sessions.ts")).addSessions,
  password: async () => (await import("./commands/sessions.ts")).addPassword,
  usage: async () => (await import("./commands/usage.ts")).addUsage,
  user: async () => (await import("./commands/users.ts")).addUsers,
  org: async () => (await import("./commands/organizations.ts")).addOrganizations,
  trigger: async () => (await import("./commands/triggers.ts")).addTriggers,
  event: async () => (await import("./commands/events.ts")).addEvents,
  cron: async () => (await import("./commands/cron.ts")).addCron,
  mail: async () => (await import("./commands/mail.ts")).addMail,
  audit: async () => (await import("./commands/audit.ts")).addAudit,
  migrate: async () => (await import("./commands/migrate.ts")).addMigrate,
  sandbox: async () => (await import("./commands/sandbox.ts")).addSandbox,
  demo: async () => (await import("./commands/demo.ts")).addDemo,
};

/** Returns the exit code; the process ends by itself when nothing is open any longer. */
export async function runCommandLine(args: readonly string[], outside: Outside): Promise<number> {
  const line = createCommandLine(outside);
  const [first, ...rest] = args;
  if (first !== "help") return carryOut(await loadProgram(line, first), args, line);
  const program = await loadProgram(line, rest[0]);
  return carryOut(program, helpOf(program, rest), line);
}

/** With all commands, or with `only` this one if there is such. Only the help and a mistyped name need all of them. */
export async function loadProgram(line: CommandLine, only?: string): Promise<Command> {
  const program = createProgram(line);
  const wanted = Object.entries(COMMANDS).filter(([name]) => name === only);
  for (const [, load] of wanted.length > 0 ? wanted : Object.entries(COMMANDS)) (await load())(program, line);
  return program;
}

/** `help runs list` is `runs list --help`. An unknown word is refused as it would be without `help`. */
function helpOf(program: Command, words: readonly string[]): string[] {
  let command = program;
  for (const [index, word] of words.entries()) {
    if (command.commands.length === 0) return [...words.slice(0, index), "--help"];
    const next = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (!next) return words.slice(0, index + 1);
    command = next;
  }
  return [...words, "--help"];
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
\`autograph help COMMAND\` prints the help of one, like \`autograph help runs list\`.
Data goes to stdout, everything else to stderr. Exit codes: 0 done, 1 refused or failed; \`run\` has more.
Settings (PORT, DATA_DIR, DATABASE_URL, …) come from the environment or from .env, as the server's do.`;

/** `error: unknown option '--jsno'\\n(Did you mean --json?)` → `autograph: unknown option '--jsno' (Did you mean --json?)`. */
const oneLine = (text: string): string =>
  text
    .trim()
    .replace(/^error: /, "autograph: ")
    .replaceAll(/\n+/g, " ");
