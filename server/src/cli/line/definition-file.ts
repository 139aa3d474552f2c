/** A definition on the command line: read from its file, and its problems shown where they are written. */
import { messageOf, OperatorError } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { CommandLine } from "./command-line.ts";
import { nameOf, readGiven } from "./given-file.ts";
import { plainText, type Terminal } from "./terminal.ts";

/** `name` is for messages. */
export type DefinitionFile = { name: string; text: string };

/** `-` is stdin. Throws OperatorError; the server decides what is in it. */
export async function readDefinition(line: CommandLine, file: string): Promise<DefinitionFile> {
  const name = nameOf(file);
  try {
    const bytes = await readGiven(line, file, LIMITS.definitionBytes);
    if (!bytes) throw tooLarge();
    return { name, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch (error) {
    const isEncoding = error instanceof TypeError;
    throw new OperatorError(`${name} can't be read: ${isEncoding ? "it is not UTF-8" : messageOf(error)}`);
  }
}

const tooLarge = (): Error => new Error(`it is larger than the ${LIMITS.definitionBytes / 1024} KiB of a definition`);

/** As the API tells it: counted from 1. */
export type ShownProblem = { line: number; column: number; message: string; severity: "error" | "warning" };

/** `FILE:LINE:COLUMN: error: message`, the line itself, and a caret below the place. */
export function showProblem(terminal: Terminal, { name, text }: DefinitionFile, problem: ShownProblem): string {
  const { line, column, message, severity } = problem;
  const paint = severity === "error" ? terminal.red : terminal.yellow;
  const number = String(line);
  const margin = " ".repeat(number.length);
  const written = text.split("\n", line)[line - 1]?.replace(/\r$/, "") ?? "";
  const { shown, at } = windowOf(written, column - 1, terminal.columns - number.length - " | ".length);
  return [
    `${terminal.bold(`${plainText(name)}:${line}:${column}`)}: ${paint(severity)}: ${plainText(message)}`,
    `${terminal.dim(`${number} | `)}${plainText(shown)}`,
    `${terminal.dim(`${margin} | `)}${" ".repeat(at)}${paint("^")}`,
  ].join("\n");
}

/** As much of a line as fits, around what is at `column` (from 0): a definition may be one line of JSON. */
function windowOf(line: string, column: number, width: number): { shown: string; at: number } {
  if (line.length <= width) return { shown: line, at: column };
  const room = width - 2;
  const from = Math.max(0, Math.min(column - Math.floor(room / 2), line.length - room));
  const part = line.slice(from, from + room);
  const [before, after] = [from > 0 ? "…" : "", from + room < line.length ? "…" : ""];
  return { shown: `${before}${part}${after}`, at: column - from + before.length };
}
