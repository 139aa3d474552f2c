import type { Command } from "commander";
import { migrate, migrationsOf } from "../../storage/migrate.ts";
import { openAsItIs } from "../server/beside.ts";
import { addCommand, type CommandLine } from "../line/command-line.ts";

export function addMigrate(program: Command, line: CommandLine): void {
  const summary = "Bring the database's schema up to date, as every start of the server does by itself.";
  addCommand(program, "migrate", summary).action(async (options: { json?: true }) => {
    await using beside = await openAsItIs(line, line.config());
    const carriedOut = await migrate(beside.database);
    const schema = (await migrationsOf(beside.database)).at(-1);
    if (options.json) return line.terminal.printJson({ schema, carriedOut });
    for (const name of carriedOut) line.terminal.print(name);
    line.terminal.say(carriedOut.length === 0 ? `the schema is up to date (${schema})` : `the schema is now ${schema}`);
  });
}
