import { Option, type Command } from "commander";
import { OperatorError } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";
import { addApiOptions, openApi, type ApiOptions } from "./api.ts";
import { addCommand, type CommandLine } from "./command-line.ts";
import { plainText, tableOf } from "./terminal.ts";

type ApiKey = {
  id: string;
  name: string;
  hint: string;
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
  lastUsedAt: string | null;
};
type Options = ApiOptions & { json?: true };

const FIELDS = "id name hint createdAt expiresAt revokedAt lastUsedAt";
const LIST = `query ($first: Int!) { apiKeys(first: $first) { nodes { ${FIELDS} } pageInfo { hasNextPage } } }`;
const CREATE = `mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { ${FIELDS} secret } }`;
const REVOKE = `mutation ($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { ${FIELDS} } }`;

export function addKeys(program: Command, line: CommandLine): void {
  const keys = program.command("keys").description("API keys of the organization, through the server's API.");
  const most = LIMITS.pageSize;
  addApiOptions(addCommand(keys, "list", "The organization's API keys, newest first."))
    .addOption(new Option("--first <count>", `how many at most, up to ${most}`).argParser(countOf).default(50))
    .action((options: Options & { first: number }) => list(line, options));
  addApiOptions(addCommand(keys, "create <name>", "Make an API key and print it: it is never shown again."))
    .option("--expires-at <time>", "when it ends by itself, like 2027-01-01T00:00:00Z", timeOf)
    .action((name: string, options: Options & { expiresAt?: string }) => create(line, name, options));
  addApiOptions(addCommand(keys, "revoke <id>", "End an API key for good.")).action((id: string, options: Options) =>
    revoke(line, id, options),
  );
}

function countOf(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= LIMITS.pageSize) return count;
  throw new OperatorError(`--first must be a whole number from 1 to ${LIMITS.pageSize}`);
}

/** The server says what else is wrong with it; its sentence for this one is about GraphQL's types. */
function timeOf(text: string): string {
  if (/^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/i.test(text)) return text;
  throw new OperatorError("--expires-at must be a time with a zone, like 2027-01-01T00:00:00Z");
}

async function list(line: CommandLine, { first, ...options }: Options & { first: number }): Promise<void> {
  type Data = { apiKeys: { nodes: ApiKey[]; pageInfo: { hasNextPage: boolean } } };
  const { nodes, pageInfo } = (await openApi(line, options).send<Data>(LIST, { first })).apiKeys;
  if (options.json) line.terminal.printJson(nodes);
  else for (const row of tableOf([HEAD, ...nodes.map((key) => rowOf(key, line.clock.now()))])) line.terminal.print(row);
  if (pageInfo.hasNextPage)
    line.terminal.say(`only the newest ${first} are shown: --first shows up to ${LIMITS.pageSize}`);
}

const HEAD = ["id", "ends with", "created", "last used", "state", "name"];

const minuteOf = (time: string | null): string => time?.slice(0, 16).replace("T", " ") ?? "never";

function rowOf(key: ApiKey, now: number): string[] {
  return [key.id, key.hint, minuteOf(key.createdAt), minuteOf(key.lastUsedAt), stateOf(key, now), plainText(key.name)];
}

function stateOf({ revokedAt, expiresAt }: ApiKey, now: number): string {
  if (revokedAt) return "revoked";
  if (!expiresAt) return "good";
  return Date.parse(expiresAt) <= now ? "expired" : `until ${minuteOf(expiresAt)}`;
}

async function create(line: CommandLine, name: string, options: Options & { expiresAt?: string }): Promise<void> {
  const input = { name, ...(options.expiresAt !== undefined && { expiresAt: options.expiresAt }) };
  type Data = { createApiKey: ApiKey & { secret: string } };
  const { createApiKey: key } = await openApi(line, options).send<Data>(CREATE, { input });
  if (options.json) return line.terminal.printJson(key);
  line.terminal.print(key.secret);
  line.terminal.say(`${key.id}: keep the key, it is not shown again`);
}

async function revoke(line: CommandLine, apiKeyId: string, options: Options): Promise<void> {
  const { revokeApiKey: key } = await openApi(line, options).send<{ revokeApiKey: ApiKey }>(REVOKE, {
    input: { apiKeyId },
  });
  if (options.json) return line.terminal.printJson(key);
  line.terminal.print(`${key.id} is revoked (${plainText(key.name)}, …${key.hint})`);
}
