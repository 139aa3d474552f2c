/** The tools of MCP servers that agents' models may call: as they are pinned, and accepting that a server describes them otherwise. */
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import type { Command } from "commander";
import { diffVersions } from "../../agents/diff-versions.ts";
import { canonicalJson } from "../../audit/canonical.ts";
import { OperatorError } from "../../lib/errors.ts";
import { parseStored } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { ToolDescription } from "../../lib/mcp/tool-description.ts";
import { addApiOptions, openApi, type Api, type ApiOptions } from "../server/api.ts";
import { addCommand, type CommandLine } from "../line/command-line.ts";
import { findAgentId } from "../server/find-agent.ts";
import { addFirst, minuteOf, MORE, printPage, type Page, type Table } from "../line/page.ts";
import { cutText, plainText, prettyJson, showInvisible } from "../line/terminal.ts";

type Options = ApiOptions & { json?: true; project?: string; agentVersion?: string };
type ListOptions = Options & { first: number };
type TrustOptions = Options & { yes?: true };

type Pin = { name: string; server: string; pinnedAt: string; change: { seenAt: string } | null };
type Changed = {
  name: string;
  server: string;
  version: string;
  pinned: ToolDescription | null;
  change: { hash: string; seenAt: string; described: ToolDescription };
};

const DESCRIBED = "{ description inputSchema hints }";
const LIST = `query ($id: ID!, $version: String, $first: Int!) {
  agent(id: $id) {
    pinnedTools(version: $version, first: $first) {
      nodes { name server version pinnedAt trustedBy { id name } change { hash seenAt } } ${MORE}
    }
  }
}`;
const CHANGED = `query ($id: ID!, $version: String, $first: Int!, $after: String) {
  agent(id: $id) {
    pinnedTools(version: $version, isChanged: true, first: $first, after: $after) {
      nodes { name server version pinned ${DESCRIBED} change { hash seenAt described ${DESCRIBED} } }
      pageInfo { hasNextPage endCursor }
    }
  }
}`;
const TRUST = "mutation ($input: TrustToolsInput!) { trustTools(input: $input) { id } }";

/** The most that one request may accept. */
const ACCEPTED_AT_ONCE = LIMITS.argumentItems;

/** Both texts of so many are no more than half of what an answer may have. */
const READ_AT_ONCE = Math.floor(LIMITS.answerBytes / 2 / (2 * LIMITS.assistantListBytes));

export function addMcp(program: Command, line: CommandLine): void {
  const mcp = program.command("mcp").description("Tools of MCP servers that agents' models may call.");
  addFirst(addNamed(mcp, "list", "The tools that runs have listed, as they are pinned.")).action(
    (agent: string, options: ListOptions) => list(line, agent, options),
  );
  addNamed(mcp, "trust", "Shows how servers describe tools otherwise than pinned, and accepts it.")
    .option("--yes", "accept without asking")
    .action((agent: string, options: TrustOptions) => trust(line, agent, options));
}

const addNamed = (mcp: Command, name: string, summary: string): Command =>
  addApiOptions(addCommand(mcp, `${name} <agent>`, `${summary} The agent by handle, project/handle or id.`))
    .option("--project <project>", "handle or id, where two projects have an agent of that handle")
    .option("--agent-version <version>", "a version that is not the published one");

const TABLE: Table<Pin> = {
  head: ["state", "pinned", "tool", "server"],
  row: ({ name, server, pinnedAt, change }) => [
    change ? "changed" : "as pinned",
    minuteOf(pinnedAt),
    plainText(name),
    plainText(server),
  ],
  none: "no run of this version has listed tools of an MCP server",
};

type Read<Item> = { agent: { pinnedTools: Page<Item> } };
type ReadChanged = {
  agent: { pinnedTools: { nodes: Changed[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } } };
};

async function list(line: CommandLine, name: string, options: ListOptions): Promise<void> {
  const api = openApi(line, options);
  const { first, agentVersion: version } = options;
  const id = await findAgentId(api, name, options.project);
  const { agent } = await api.send<Read<Pin>>(LIST, { id, version, first });
  printPage(line, agent.pinnedTools, TABLE, options);
}

async function trust(line: CommandLine, name: string, options: TrustOptions): Promise<void> {
  const api = openApi(line, options);
  const { terminal } = line;
  const agentId = await findAgentId(api, name, options.project);
  const { changed, hasMore } = await readChanged(api, agentId, options);
  if (options.json) terminal.printJson(changed);
  else for (const tool of changed) for (const text of shownChange(tool)) terminal.print(text);
  if (changed.length === 0) return terminal.say("no tool has changed");
  if (!options.yes && !(await isAccepted(line, changed.length)))
    throw new OperatorError("nothing is accepted: give --yes to accept these changes");
  const changes = changed.map(({ change }) => change.hash);
  await api.send(TRUST, { input: { agentId, changes } });
  terminal.say(`accepted: ${countOf(changed.length)}${hasMore ? "; there are more" : ""}`);
}

/** Reads the changes, at most those that one request accepts. */
async function readChanged(
  api: Api,
  id: string,
  { agentVersion: version }: Options,
): Promise<{ changed: Changed[]; hasMore: boolean }> {
  const changed: Changed[] = [];
  let after: string | null = null;
  let hasMore = true;
  while (hasMore && changed.length < ACCEPTED_AT_ONCE) {
    const first = Math.min(READ_AT_ONCE, ACCEPTED_AT_ONCE - changed.length);
    const { agent }: ReadChanged = await api.send(CHANGED, { id, version, first, after });
    changed.push(...agent.pinnedTools.nodes);
    ({ hasNextPage: hasMore, endCursor: after } = agent.pinnedTools.pageInfo);
  }
  return { changed, hasMore };
}

const countOf = (count: number): string => (count === 1 ? "1 change" : `${count} changes`);

/** Only somebody at a terminal is asked. */
async function isAccepted({ stdin, terminal }: CommandLine, count: number): Promise<boolean> {
  const input = stdin();
  if (!input.isTTY) return false;
  terminal.say(`Accept ${countOf(count)}? Calls of these tools are then made as the server describes them. [y/N]`);
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const typing = createInterface({ input, output });
  try {
    return /^y(?:es)?$/i.test((await typing.question("")).trim());
  } finally {
    typing.close();
  }
}

const MAX_LINES = 200;
const MAX_LINE_CHARACTERS = 500;

/** The names, and the difference as `diff -u` writes it, cut. */
function shownChange({ name, server, pinned, change }: Changed): string[] {
  const names = { before: pinned ? "pinned" : "was not there", after: "now" };
  const lines = diffVersions(pinned ? textOf(pinned) : "", textOf(change.described), names)
    .trimEnd()
    .split("\n");
  const more = lines.length - MAX_LINES;
  return [
    `${showInvisible(name)} of ${cutText(showInvisible(server), MAX_LINE_CHARACTERS)}, seen ${minuteOf(change.seenAt)}`,
    ...lines.slice(0, MAX_LINES).map((text) => cutText(showInvisible(text), MAX_LINE_CHARACTERS)),
    ...(more > 0 ? [`… ${more} more lines: --json shows all`] : []),
  ];
}

/** Sentence by sentence, then the rest as JSON with its keys in order. */
function textOf({ description, inputSchema, hints }: ToolDescription): string {
  const rest = parseStored(canonicalJson({ inputSchema, hints }));
  return `${description.replaceAll(/(?<=[.!?]) /g, "\n")}\n${prettyJson(rest)}\n`;
}
