import type { Command } from "commander";
import { SETTINGS } from "../../config.ts";
import type { CommandLine } from "../line/command-line.ts";

/**
 * `npx autograph start` never gets here: its starter (server/bin/autograph.js) replaces itself with the server. This is
 * for the help, and for anyone who runs the built command line by hand.
 */
export function addStart(program: Command, line: CommandLine): void {
  program
    .command("start")
    .description("Start the server, and its own PostgreSQL when there is no DATABASE_URL; ends at Ctrl-C.")
    .option("--json", "print the URLs as one line of JSON when it is ready")
    .addHelpText("after", settingsText)
    .action(async () => {
      line.config();
      await import("../../main.ts");
    });
}

function settingsText(): string {
  const rows = Object.entries(SETTINGS).map(([name, setting]) => {
    const standard = "standard" in setting && setting.standard !== "" ? ` (${setting.standard})` : "";
    return `  ${name.padEnd(16)} ${setting.meaning.replaceAll("`", "")}${standard}`;
  });
  return ["", "Settings, from the environment or from .env:", ...rows].join("\n");
}
