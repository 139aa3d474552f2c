import type { Command } from "commander";
import { addApiOptions, openApi, type ApiOptions } from "../server/api.ts";
import { addCommand, type CommandLine } from "../line/command-line.ts";
import { readDefinition, showProblem, type ShownProblem } from "../line/definition-file.ts";
import { plainText } from "../line/terminal.ts";

type Options = ApiOptions & { json?: true };
type Check = { valid: boolean; problems: ShownProblem[] };

const VALIDATE = `query ($definition: String!) {
  validateDefinition(definition: $definition) { valid problems { path line column message severity } }
}`;

export function addValidate(program: Command, line: CommandLine): void {
  addApiOptions(addCommand(program, "validate <file>", "Check a definition, YAML or JSON. - is stdin."))
    .addHelpText("after", "\nExit codes: 0 valid, 1 not valid.")
    .action((file: string, options: Options) => validate(line, file, options));
}

async function validate(line: CommandLine, name: string, options: Options): Promise<void> {
  const file = await readDefinition(line, name);
  const { validateDefinition: check } = await openApi(line, options).send<{ validateDefinition: Check }>(VALIDATE, {
    definition: file.text,
  });
  const { terminal } = line;
  line.exitCode = check.valid ? 0 : 1;
  if (options.json) return terminal.printJson(check);
  for (const problem of check.problems) terminal.print(showProblem(terminal, file, problem));
  if (check.valid) terminal.print(`${plainText(file.name)} is valid`);
}
