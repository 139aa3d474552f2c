import { Option, type Command } from "commander";
import type { FormField } from "../../definition/form/form.ts";
import type { AgentStatus } from "../../storage/schema.ts";
import { LIMITS } from "../../lib/limits.ts";
import { addApiOptions, openApi, type Api, type ApiOptions } from "../server/api.ts";
import { addCommand, type CommandLine } from "../line/command-line.ts";
import { findAgentId } from "../server/find-agent.ts";
import { FORM_FIELD, titleOf } from "../line/form-field.ts";
import { MORE, printItems, type Page, type Table } from "../line/page.ts";
import { plainText, tableOf } from "../line/terminal.ts";

type Options = ApiOptions & { json?: true; project?: string };
type ListOptions = Options & { status?: AgentStatus[] };

type Agent = {
  id: string;
  handle: string;
  name: string;
  status: AgentStatus;
  version: string;
  project: { id: string; handle: string };
};
type WholeAgent = Agent & { description: string | null; concurrency: number | null; inputFields: FormField[] };

const FIELDS = "id handle name status version project { id handle }";
const LIST = `query { agents { ${FIELDS} } }`;
const LIST_BY_STATUS = `query ($filter: AgentFilter, $first: Int!) {
  agentsConnection(filter: $filter, first: $first) { nodes { ${FIELDS} } ${MORE} }
}`;
const STATUSES = ["draft", "active", "paused", "archived"] satisfies AgentStatus[];
const SHOW = `query ($id: ID!) {
  agent(id: $id) {
    ${FIELDS} description concurrency createdAt updatedAt
    inputFields { ${FORM_FIELD} }
  }
}`;
const SET_STATUS = `mutation ($input: SetAgentStatusInput!) { setAgentStatus(input: $input) { ${FIELDS} } }`;

/** The command, its status, what it does. */
const CHANGES = [
  ["pause", "paused", "Refuse new runs of an agent for now; open runs go on."],
  ["resume", "active", "Accept new runs of an agent again."],
  ["archive", "archived", "Retire an agent: it refuses new runs and is not listed."],
] as const;

export function addAgents(program: Command, line: CommandLine): void {
  const agents = program.command("agents").description("Agents, through the server's API.");
  addApiOptions(addCommand(agents, "list", "Agents by name, without archived ones; with --status the newest first."))
    .addOption(new Option("--status <status...>", "only those in one of these states").choices(STATUSES))
    .option("--project <project>", "only those of this project, by handle or id")
    .action((options: ListOptions) => list(line, options));
  addNamed(agents, "show", "An agent and the fields of its input.").action((agent: string, options: Options) =>
    show(line, agent, options),
  );
  for (const [name, status, summary] of CHANGES)
    addNamed(agents, name, summary).action((agent: string, options: Options) => change(line, agent, status, options));
}

const addNamed = (agents: Command, name: string, summary: string): Command =>
  addApiOptions(addCommand(agents, `${name} <agent>`, `${summary} By handle, project/handle or id.`)).option(
    "--project <project>",
    "handle or id, where two projects have an agent of that handle",
  );

const nameOf = ({ project, handle }: Agent): string => `${project.handle}/${handle}`;

const TABLE: Table<Agent> = {
  head: ["id", "status", "version", "agent"],
  row: (agent) => [agent.id, agent.status, plainText(agent.version), nameOf(agent)],
  none: "there are no such agents",
};

async function list(line: CommandLine, options: ListOptions): Promise<void> {
  const api = openApi(line, options);
  const agents = options.status ? await byStatus(line, api, options.status) : (await api.send<Agents>(LIST)).agents;
  const { project } = options;
  const shown = agents.filter((one) => project === undefined || [one.project.id, one.project.handle].includes(project));
  printItems(line, shown, TABLE, options.json);
}

type Agents = { agents: Agent[] };

async function byStatus({ terminal }: CommandLine, api: Api, status: AgentStatus[]): Promise<Agent[]> {
  const first = LIMITS.pageSize;
  type Data = { agentsConnection: Page<Agent> };
  const { nodes, pageInfo } = (await api.send<Data>(LIST_BY_STATUS, { filter: { status }, first })).agentsConnection;
  if (pageInfo.hasNextPage) terminal.say(`only the newest ${first} in these states are looked at`);
  return nodes;
}

async function show(line: CommandLine, name: string, options: Options): Promise<void> {
  const api = openApi(line, options);
  const id = await findAgentId(api, name, options.project);
  const { agent } = await api.send<{ agent: WholeAgent }>(SHOW, { id });
  const { terminal } = line;
  if (options.json) return terminal.printJson(agent);
  terminal.print(`${terminal.bold(nameOf(agent))} ${plainText(agent.version)}, ${agent.status}`);
  terminal.print(agent.id);
  for (const text of [agent.name, agent.description]) if (text) terminal.print(plainText(text));
  if (agent.concurrency !== null) terminal.print(`at most ${agent.concurrency} runs under way`);
  const rows = agent.inputFields.map((field) => [
    plainText(field.name),
    field.type,
    field.required ? "required" : "",
    titleOf(field),
  ]);
  if (rows.length === 0) return terminal.print("takes any input");
  for (const row of tableOf([["field", "type", "", "title"], ...rows], terminal.columns)) terminal.print(row);
}

async function change(line: CommandLine, name: string, status: AgentStatus, options: Options): Promise<void> {
  const api = openApi(line, options);
  const agentId = await findAgentId(api, name, options.project);
  const { setAgentStatus: agent } = await api.send<{ setAgentStatus: Agent }>(SET_STATUS, {
    input: { agentId, status },
  });
  if (options.json) return line.terminal.printJson(agent);
  line.terminal.print(`${agent.id} is ${agent.status} (${nameOf(agent)})`);
}
