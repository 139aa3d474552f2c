/** Triggers, which start runs of agents by themselves. */
import type { Command } from "commander";
import { OperatorError } from "../../lib/errors.ts";
import { isObject, parseJson, type JsonObject } from "../../lib/json/json.ts";
import { keysOf, TRIGGER_TYPES } from "../../triggers/kinds/kinds.ts";
import { addApiOptions, openApi, type ApiOptions } from "../server/api.ts";
import { addCommand, idArgument, type CommandLine } from "../line/command-line.ts";
import { findAgentId } from "../server/find-agent.ts";
import { addFirst, minuteOf, MORE, printPage, type Page, type Table } from "../line/page.ts";

type Trigger = {
  id: string;
  name: string;
  type: string;
  status: string;
  url: string | null;
  nextDueAt: string | null;
  agent: { id: string; handle: string };
};
type Firing = { id: string; at: string; outcome: string; message: string | null; run: { id: string } | null };
type Options = ApiOptions & { json?: true };

const FIELDS = "id name type status url nextDueAt configuration agent { id handle } createdAt updatedAt";
const LIST = `query ($filter: TriggerFilter, $first: Int!) {
  triggers(filter: $filter, first: $first) { nodes { ${FIELDS} } ${MORE} }
}`;
const ADD = `mutation ($input: CreateTriggerInput!) { createTrigger(input: $input) { id name type status url nextDueAt configuration agent { id handle } } }`;
const FIRE = `mutation ($input: FireTriggerInput!) { fireTrigger(input: $input) { id at outcome code message run { id status } } }`;
const FIRINGS = `query ($id: ID!, $first: Int!) { trigger(id: $id) {
  firings(first: $first) { nodes { id at dueAt outcome policy code message delivery run { id } } ${MORE} }
} }`;

export function addTriggers(program: Command, line: CommandLine): void {
  const trigger = program.command("trigger").alias("triggers").description("What starts runs of agents by itself.");
  addApiOptions(addFirst(addCommand(trigger, "list", "Triggers, newest first.")))
    .option("--agent <agent>", "only those of this agent, by handle or id")
    .action((options: Options & { first: number; agent?: string }) => list(line, options));
  const add = addApiOptions(addCommand(trigger, "add <agent> <name>", "Give an agent a trigger."))
    .requiredOption("--type <type>", `one of ${TRIGGER_TYPES.join(", ")}`)
    .option("--policy <json>", "how it fires besides, as a JSON object");
  const keys = Object.keys(keysOf("keys"));
  for (const [key, { api }] of Object.entries(keysOf("keys")))
    add.option(`--${key} <${api === "String" ? "text" : "json"}>`, `the configuration's ${key}`);
  add.action((agent: string, name: string, options: Options & AddOptions) => create(line, agent, name, options, keys));
  const id = idArgument("trigger", "trigger list");
  addApiOptions(addCommand(trigger, "fire", "Fire a trigger now, also a paused one.").addArgument(id))
    .option("--payload <json>", "what would have come with it, as a JSON object")
    .action((triggerId: string, options: Options & { payload?: string }) => fire(line, triggerId, options));
  addApiOptions(
    addFirst(addCommand(trigger, "firings", "What came of a trigger, newest first.").addArgument(id)),
  ).action((triggerId: string, options: Options & { first: number }) => firings(line, triggerId, options));
}

const TABLE: Table<Trigger> = {
  head: ["id", "type", "next or status", "name and agent"],
  row: ({ id, type, status, nextDueAt, agent, name }) => [
    id,
    type,
    nextDueAt === null ? status : minuteOf(nextDueAt),
    `${name}, ${agent.handle}`,
  ],
  none: "there are no triggers",
};

async function list(line: CommandLine, options: Options & { first: number; agent?: string }): Promise<void> {
  const api = openApi(line, options);
  const filter = options.agent === undefined ? null : { agentId: [await findAgentId(api, options.agent)] };
  const { triggers } = await api.send<{ triggers: Page<Trigger> }>(LIST, { filter, first: options.first });
  printPage(line, triggers, TABLE, options);
}

type AddOptions = { type: string; policy?: string } & Record<string, unknown>;

async function create(
  line: CommandLine,
  agent: string,
  name: string,
  options: Options & AddOptions,
  keys: readonly string[],
): Promise<void> {
  const api = openApi(line, options);
  const given = keys.flatMap((key) => {
    const text = options[key] as string | undefined;
    if (text === undefined) return [];
    return [[key, keysOf("keys")[key]!.api === "String" ? text : parseJson(text, `--${key}`)]];
  });
  const input = {
    agentId: await findAgentId(api, agent),
    name,
    trigger: { type: typeOf(options.type), ...(Object.fromEntries(given) as JsonObject) },
    ...(options.policy !== undefined && { policy: objectOf(options.policy, "--policy") }),
  };
  const { createTrigger: made } = await api.send<{ createTrigger: Trigger }>(ADD, { input });
  if (options.json) return line.terminal.printJson(made);
  line.terminal.print(made.id);
  if (made.url !== null) line.terminal.print(made.url);
}

function typeOf(text: string): string {
  if (TRIGGER_TYPES.some((type) => type === text)) return text;
  throw new OperatorError(`--type must be one of ${TRIGGER_TYPES.join(", ")}, not ${JSON.stringify(text)}`);
}

function objectOf(text: string, option: string): JsonObject {
  const value = parseJson(text, option);
  if (isObject(value)) return value;
  throw new OperatorError(`${option} must be a JSON object`);
}

async function fire(line: CommandLine, triggerId: string, options: Options & { payload?: string }): Promise<void> {
  const payload = options.payload === undefined ? null : objectOf(options.payload, "--payload");
  const input = { triggerId, payload };
  const { fireTrigger: firing } = await openApi(line, options).send<{ fireTrigger: Firing }>(FIRE, { input });
  if (options.json) line.terminal.printJson(firing);
  else line.terminal.print(`${firing.outcome} ${firing.run?.id ?? firing.message ?? ""}`.trimEnd());
}

const FIRINGS_TABLE: Table<Firing> = {
  head: ["at", "outcome", "run or reason"],
  row: ({ at, outcome, run, message }) => [minuteOf(at), outcome, run?.id ?? message ?? "-"],
  none: "it has no firings",
};

async function firings(line: CommandLine, id: string, options: Options & { first: number }): Promise<void> {
  const { trigger } = await openApi(line, options).send<{ trigger: { firings: Page<Firing> } }>(FIRINGS, {
    id,
    first: options.first,
  });
  printPage(line, trigger.firings, FIRINGS_TABLE, options);
}
