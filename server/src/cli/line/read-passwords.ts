/**
 * Passwords, typed at a terminal without being shown, or piped in as a line each. Never from an argument: those are in the shell's
 * history and in the list of processes.
 */
import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import { OperatorError } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Input } from "./command-line.ts";
import { readAtMost } from "./given-file.ts";

/** One for each question. Throws OperatorError when there are fewer, or more than a request may have. */
export async function readPasswords(
  questions: readonly string[],
  { stdin, say }: { stdin: Input; say: (text: string) => void },
): Promise<string[]> {
  if (!stdin.isTTY) return linesOf((await readAtMost(stdin, LIMITS.bodyBytes))?.toString() ?? "", questions);
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  const typing = createInterface({ input: stdin, output: hidden, terminal: true });
  try {
    const typed: string[] = [];
    for (const question of questions) {
      say(question);
      typed.push(await typedLine(typing));
    }
    return typed;
  } finally {
    typing.close();
  }
}

/** Ctrl-C and Ctrl-D close it. */
const typedLine = (typing: Interface): Promise<string> =>
  new Promise((resolve, reject) => {
    typing.once("close", () => reject(new OperatorError("no password was typed: nothing is changed")));
    typing.once("line", resolve);
  });

function linesOf(text: string, questions: readonly string[]): string[] {
  const lines = text.split(/\r?\n/).slice(0, questions.length);
  if (lines.length === questions.length && lines.every((one) => one !== "")) return lines;
  const wanted = questions.map((question) => question.toLowerCase().replace(/:$/, "")).join(", then the ");
  throw new OperatorError(`pipe in the ${wanted}, ${questions.length > 1 ? "a line each" : "on a line"}`);
}
