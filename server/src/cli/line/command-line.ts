/** The input of every command, and what all have in common: `--json`, one line per mistake, the exit code. */
import { Argument, CommanderError, type Command } from "commander";
import { readConfig, type Config, type Environment } from "../../config.ts";
import type { Clock } from "../../lib/clock.ts";
import { messageOf, OperatorError, Refusal, shortened, type FieldProblem } from "../../lib/errors.ts";
import { decodeId, encodeId, NO_ID, type Id, type Kind } from "../../lib/ids.ts";
import { createLog, type Log } from "../../lib/log/log.ts";
import { isUnavailable } from "../../storage/pg-errors.ts";
import type { Ending } from "./ending.ts";
import { createTerminal, type Output, type Terminal } from "./terminal.ts";

/** `isTTY`: somebody types. */
export type Input = NodeJS.ReadableStream & { isTTY?: boolean };

/** The surroundings of a command: a process that it has to itself, or less. */
export type Outside = {
  environment: Environment;
  cwd: string;
  clock: Clock;
  /** Opened by the first call, so that who reads nothing does not wait for it. */
  stdin: () => Input;
  stdout: Output;
  stderr: Output;
  ending: Ending;
};

export type CommandLine = Omit<Outside, "stdout" | "stderr"> & {
  terminal: Terminal;
  /** Warnings and worse, on stderr. */
  log: Log;
  /** Throws OperatorError with a line for each mistake. */
  config(): Config;
  /** The process's exit code; a command with its own codes sets it (docs/cli.md). */
  exitCode: number;
};

export const createCommandLine = ({ stdout, stderr, ...outside }: Outside): CommandLine => ({
  ...outside,
  terminal: createTerminal({ stdout, stderr, environment: outside.environment }),
  log: createLog("warn", { out: stderr }),
  config: () => readConfig(outside.environment, outside.cwd),
  exitCode: 0,
});

/** A command that does something, as opposed to one that only groups others. */
export const addCommand = (parent: Command, usage: string, summary: string): Command =>
  parent.command(usage).description(summary).option("--json", "print JSON on stdout");

/** `list` is the command that shows such ids. What is no id at all is refused here, as the server's sentence can't say that. */
export const idArgument = (kind: Kind, list: string): Argument => {
  const [prefix] = encodeId(kind, NO_ID as Id<Kind>).split("_") as [string];
  const article = /^[aeiou]/.test(prefix) ? "an" : "a";
  return new Argument("<id>", `its id, as \`autograph ${list}\` shows it`).argParser((text) => {
    if (decodeId(kind, text) !== undefined) return text;
    throw new OperatorError(
      `${JSON.stringify(shortened(text))} is not ${article} ${prefix} id (${prefix}_…): \`autograph ${list}\` shows them`,
    );
  });
};

/** The exit code. Mistakes and refusals are one line on stderr; anything else is a bug and keeps its stack. */
export async function carryOut(program: Command, args: readonly string[], line: CommandLine): Promise<number> {
  try {
    await program.parseAsync(args, { from: "user" });
    return line.exitCode;
  } catch (error) {
    // Commander has printed its own message, or the requested help.
    if (error instanceof CommanderError) return error.exitCode;
    if (!line.ending.isEnding) line.terminal.say(`autograph: ${sentenceOf(error)}`);
    return 1;
  }
}

function sentenceOf(error: unknown): string {
  if (error instanceof OperatorError) return error.message;
  if (error instanceof Refusal) return refusalText(error.message, error.details.fields ?? []);
  if (isUnavailable(error)) return `the database can't be used at the moment (${messageOf(error)})`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** `the input does not fit: n: is missing; m: must be a number`; leaves out fields that the message already names. */
export function refusalText(message: string, fields: readonly Omit<FieldProblem, "code">[]): string {
  const more = fields.filter((field) => !message.includes(field.message));
  return more.length === 0
    ? message
    : `${message}: ${more.map((field) => `${placeOf(field)}: ${field.message}`).join("; ")}`;
}

const placeOf = ({ path, line, column }: Omit<FieldProblem, "code">): string =>
  line === undefined ? nameOf(path) : `line ${line}, column ${column}`;

/** A mutation's argument is `input`, and so is the run's input in it: neither says anything on a command line. */
const nameOf = (path: string): string => path.replace(/^input\.(input\.)?/, "");
