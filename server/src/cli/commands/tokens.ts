import type { Command } from "commander";
import { rotateSigningKey } from "../../auth/tokens/rotate-signing-key.ts";
import { LIMITS } from "../../lib/limits.ts";
import { openBeside } from "../server/beside.ts";
import { addCommand, type CommandLine } from "../line/command-line.ts";

type Options = { json?: true; atOnce?: true };

export function addTokens(program: Command, line: CommandLine): void {
  const tokens = program.command("tokens").description("Access tokens of people who are signed in.");
  addCommand(tokens, "rotate-key", "Sign access tokens with a new key; for anyone who may read the data folder.")
    .option("--at-once", `from now on, not ${LIMITS.signingKeyGraceSeconds} s after the new key is published`)
    .action((options: Options) => rotate(line, options));
}

async function rotate(line: CommandLine, { json, atOnce }: Options): Promise<void> {
  await using beside = await openBeside(line, line.config());
  const { id, signsFrom, formerUntil } = await rotateSigningKey(beside.database, line.clock, atOnce === true);
  const [from, until] = [signsFrom, formerUntil].map((time) => new Date(time).toISOString());
  if (json) line.terminal.printJson({ kid: id, signsFrom: from, formerUntil: until });
  else line.terminal.print(`${id} signs access tokens from ${from}; those of the former key are good until ${until}`);
}
