/** Events: what happened elsewhere, told to the agents that listen. */
import type { Command } from "commander";
import { OperatorError } from "../../lib/errors.ts";
import { addApiOptions, ApiError, openApi, type Api, type ApiOptions } from "../server/api.ts";
import { addCommand, type CommandLine } from "../line/command-line.ts";
import { addFirst, minuteOf, MORE, printPage, type Page, type Table } from "../line/page.ts";
import { readInput } from "../line/run-input.ts";

type Options = ApiOptions & { json?: true; id: string; data?: string; dataFile?: string; time?: string };
type Firing = { outcome: string; message: string | null; trigger: { name: string } | null; run: { id: string } | null };
type Miss = { trigger: { name: string }; reason: string };
type Came = {
  firings: { nodes: Firing[]; pageInfo: { hasNextPage: boolean } };
  matches: { name: string }[];
  misses: Miss[];
};

type ListOptions = ApiOptions & { json?: true; first: number; source?: string; event?: string };
type Listed = { id: string; at: string; source: string; event: string; sourceId: string };

const LIST = `query ($filter: EventFilter, $first: Int!) {
  events(filter: $filter, first: $first) { nodes { id source event sourceId time at data } ${MORE} }
}`;
/** The firings of an event need another scope than publishing it. */
const PUBLISH = `mutation ($input: PublishEventInput!) { publishEvent(input: $input) { id source event sourceId time at } }`;
const CAME = `query ($id: ID!) { event(id: $id) {
  firings(first: 100) { nodes { outcome code message trigger { id name } run { id } } pageInfo { hasNextPage } }
  matches { id name }
  misses { trigger { id name } reason }
} }`;

export function addEvents(program: Command, line: CommandLine): void {
  const event = program.command("event").alias("events").description("Events that start and wake runs of agents.");
  addApiOptions(addCommand(event, "send <source> <event>", "Publish an event, and say what came of it."))
    .requiredOption("--id <id>", "what its source calls it: sent again with this id, it is the same event")
    .option("--data <json>", "what is known of it, as a JSON object")
    .option("--data-file <file>", "the same from a file; - is stdin")
    .option("--time <time>", "when it happened, like 2026-03-01T00:00:00Z (default: now)")
    .action((source: string, name: string, options: Options) => send(line, source, name, options));
  addApiOptions(addFirst(addCommand(event, "list", "Events, newest first.")))
    .option("--source <source>", "only those of this source")
    .option("--event <event>", "only those of this name, with --source")
    .action((options: ListOptions) => list(line, options));
}

const TABLE: Table<Listed> = {
  head: ["id", "at", "source, event and its id"],
  row: ({ id, at, source, event, sourceId }) => [id, minuteOf(at), `${source} ${event} ${sourceId}`],
  none: "there are no events",
};

async function list(line: CommandLine, options: ListOptions): Promise<void> {
  const { source, event, first } = options;
  const { events } = await openApi(line, options).send<{ events: Page<Listed> }>(LIST, {
    filter: { source: source && [source], event: event && [event] },
    first,
  });
  printPage(line, events, TABLE, options);
}

async function send(line: CommandLine, source: string, event: string, options: Options): Promise<void> {
  const { id, data: text, dataFile: file, time } = options;
  if (text !== undefined && file !== undefined) throw new OperatorError("give --data or --data-file, not both");
  const data = await readInput(line, { text, file, pairs: [], option: "--data" }, []);
  const api = openApi(line, options);
  const input = { source, event, id, data, ...(time !== undefined && { time }) };
  const { publishEvent: sent } = await api.send<{ publishEvent: { id: string } }>(PUBLISH, { input });
  if (!options.json) line.terminal.print(sent.id);
  const came = await cameOf(api, sent.id);
  if (options.json) {
    const { firings, matches, misses } = came ?? {};
    return line.terminal.printJson({
      ...sent,
      firings: firings?.nodes ?? null,
      matches: matches ?? null,
      misses: misses ?? null,
    });
  }
  if (came) printWhatCame(line, came);
  else line.terminal.say("what came of it is not shown: the API key lacks runs:read");
}

/** Undefined: the key may publish and not read. The event is published all the same. */
async function cameOf(api: Api, id: string): Promise<Came | undefined> {
  try {
    return (await api.send<{ event: Came }>(CAME, { id })).event;
  } catch (error) {
    if (error instanceof ApiError && error.code === "FORBIDDEN") return undefined;
    throw error;
  }
}

function printWhatCame({ terminal }: CommandLine, { firings: { nodes, pageInfo }, matches, misses }: Came): void {
  for (const { outcome, trigger, run, message } of nodes)
    terminal.print(`${outcome} ${run?.id ?? message ?? "-"} ${trigger?.name ?? ""}`.trimEnd());
  if (pageInfo.hasNextPage) terminal.print("… and more");
  if (nodes.length > 0) return;
  for (const { name } of matches) terminal.print(`${name} matches it and has not been fired`);
  if (matches.length > 0) return;
  terminal.print("no trigger matches it");
  for (const { trigger, reason } of misses) terminal.print(`${trigger.name}: ${reason}`);
}
