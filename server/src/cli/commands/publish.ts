import type { Command } from "commander";
import type { AgentStatus } from "../../storage/schema.ts";
import { OperatorError, type FieldProblem } from "../../lib/errors.ts";
import { addApiOptions, ApiError, openApi, type Api, type ApiOptions } from "../server/api.ts";
import { addCommand, type CommandLine } from "../line/command-line.ts";
import { readDefinition, showProblem, type DefinitionFile, type ShownProblem } from "../line/definition-file.ts";
import { plainText } from "../line/terminal.ts";

type Options = ApiOptions & { json?: true };
type Published = {
  id: string;
  handle: string;
  name: string;
  status: AgentStatus;
  version: string;
  project: { id: string; handle: string };
};

const PUBLISH = `mutation ($input: PublishAgentInput!) {
  publishAgent(input: $input) { id handle name status version project { id handle } }
}`;

const WARNINGS = `query ($definition: String!) {
  validateDefinition(definition: $definition) { problems { line column message severity } }
}`;

export function addPublish(program: Command, line: CommandLine): void {
  addApiOptions(
    addCommand(
      program,
      "publish <file>",
      "Publish a definition, YAML or JSON, in the project that its namespace names. - is stdin.",
    ),
  ).action((file: string, options: Options) => publish(line, file, options));
}

async function publish(line: CommandLine, name: string, options: Options): Promise<void> {
  const file = await readDefinition(line, name);
  const { terminal } = line;
  const api = openApi(line, options);
  const agent = await send(api, line, file);
  await sayWarnings(api, line, file);
  if (options.json) return terminal.printJson(agent);
  terminal.print(
    `${terminal.bold(`${agent.project.handle}/${agent.handle}`)} ${plainText(agent.version)}, ${agent.status}`,
  );
  terminal.print(agent.id);
}

/** Problems of the text are printed on stderr with their place, and not again in the refusal. */
async function send(api: Api, { terminal }: CommandLine, file: DefinitionFile): Promise<Published> {
  try {
    return (await api.send<{ publishAgent: Published }>(PUBLISH, { input: { definition: file.text } })).publishAgent;
  } catch (error) {
    const problems = error instanceof ApiError ? error.fields.flatMap(placed) : [];
    if (problems.length === 0) throw error;
    for (const problem of problems) terminal.say(showProblem(terminal, file, problem));
    const count = problems.length === 1 ? "a problem" : `${problems.length} problems`;
    throw new OperatorError(`nothing was published: the definition has ${count}`);
  }
}

/** Such as a secret that is not set yet. A key that may publish and not read does not hear of them. */
async function sayWarnings(api: Api, { terminal }: CommandLine, file: DefinitionFile): Promise<void> {
  type Data = { validateDefinition: { problems: ShownProblem[] } };
  const data = await api.send<Data>(WARNINGS, { definition: file.text }).catch((error: unknown) => {
    if (error instanceof ApiError) return undefined;
    throw error;
  });
  for (const problem of data?.validateDefinition.problems ?? []) terminal.say(showProblem(terminal, file, problem));
}

const placed = ({ line, column, message }: FieldProblem): ShownProblem[] =>
  line === undefined || column === undefined ? [] : [{ line, column, message, severity: "error" }];
