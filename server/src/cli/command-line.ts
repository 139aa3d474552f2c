/** What every command is given, and what every command does alike: `--json`, one line for a mistake, the exit code. */
import { CommanderError, type Command } from "commander";
import { readConfig, type Config, type Environment } from "../config.ts";
import type { Clock } from "../lib/clock.ts";
import { messageOf, OperatorError, Refusal } from "../lib/errors.ts";
import { createLog, type Log } from "../lib/log.ts";
import { isUnavailable } from "../storage/pg-errors.ts";
import type { Ending } from "./ending.ts";
import type { Terminal } from "./terminal.ts";

export type CommandLine = {
  environment: Environment;
  cwd: string;
  clock: Clock;
  terminal: Terminal;
  ending: Ending;
  /** Warnings and worse, on stderr. */
  log: Log;
  /** Throws OperatorError with a line for each mistake. */
  config(): Config;
  /** What the process ends with; a command that has an answer of its own sets it (docs/cli.md). */
  exitCode: number;
};

export type Outside = Pick<CommandLine, "environment" | "cwd" | "clock" | "terminal" | "ending">;

export const createCommandLine = (outside: Outside): CommandLine => ({
  ...outside,
  log: createLog("warn"),
  config: () => readConfig(outside.environment, outside.cwd),
  exitCode: 0,
});

/** A command that does something, as opposed to one that only holds others. */
export const addCommand = (parent: Command, usage: string, summary: string): Command =>
  parent.command(usage).description(summary).option("--json", "print JSON on stdout");

/** The exit code. Mistakes and refusals are one line on stderr; anything else is a bug and keeps its stack. */
export async function carryOut(program: Command, args: readonly string[], line: CommandLine): Promise<number> {
  try {
    await program.parseAsync(args, { from: "user" });
    return line.exitCode;
  } catch (error) {
    // Commander has printed its own message, or the help that was asked for.
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

/** `the input does not fit: n: is missing; m: must be a number`; fields that the message names already are left out. */
export function refusalText(message: string, fields: readonly { path: string; message: string }[]): string {
  const more = fields.filter((field) => !message.includes(field.message));
  return more.length === 0
    ? message
    : `${message}: ${more.map((field) => `${nameOf(field.path)}: ${field.message}`).join("; ")}`;
}

/** A mutation's argument is `input`, and so is the run's input in it: neither says anything on a command line. */
const nameOf = (path: string): string => path.replace(/^input\.(input\.)?/, "");
