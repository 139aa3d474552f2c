import type { Command } from "commander";
import { addApiOptions, openApi, type ApiOptions } from "../server/api.ts";
import { addCommand, type CommandLine } from "../line/command-line.ts";
import { addFirst, minuteOf, MORE, printPage, type Page, type Table } from "../line/page.ts";
import { plainText } from "../line/terminal.ts";

type Project = { id: string; handle: string; name: string; createdAt: string };
type Options = ApiOptions & { json?: true };

const FIELDS = "id handle name createdAt";
const LIST = `query ($first: Int!) { projects(first: $first) { nodes { ${FIELDS} } ${MORE} } }`;
const CREATE = `mutation ($input: CreateProjectInput!) { createProject(input: $input) { ${FIELDS} } }`;

export function addProjects(program: Command, line: CommandLine): void {
  const projects = program
    .command("projects")
    .description("Projects, the folders of agents, through the server's API.");
  addApiOptions(addFirst(addCommand(projects, "list", "The organization's projects, newest first."))).action(
    (options: Options & { first: number }) => list(line, options),
  );
  addApiOptions(
    addCommand(projects, "create <handle>", "Make a project. Definitions name it as their namespace, by its handle."),
  )
    .option("--name <name>", "what people see (the handle)")
    .action((handle: string, options: Options & { name?: string }) => create(line, handle, options));
}

const TABLE: Table<Project> = {
  head: ["id", "created", "handle", "name"],
  row: ({ id, createdAt, handle, name }) => [id, minuteOf(createdAt), handle, plainText(name)],
  none: "there are no projects",
};

async function list(line: CommandLine, options: Options & { first: number }): Promise<void> {
  const { projects } = await openApi(line, options).send<{ projects: Page<Project> }>(LIST, { first: options.first });
  printPage(line, projects, TABLE, options);
}

async function create(line: CommandLine, handle: string, options: Options & { name?: string }): Promise<void> {
  const input = { handle, name: options.name ?? handle };
  type Data = { createProject: Project };
  const { createProject: project } = await openApi(line, options).send<Data>(CREATE, { input });
  if (options.json) line.terminal.printJson(project);
  else line.terminal.print(`${project.id} is created (${project.handle})`);
}
