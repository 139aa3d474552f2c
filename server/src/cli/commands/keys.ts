import { Option, type Command } from "commander";
import { API_KEY_PRESETS, type ApiKeyPreset } from "../../auth/api-keys/api-key-presets.ts";
import { ALL_SCOPES } from "../../auth/scopes.ts";
import { OperatorError } from "../../lib/errors.ts";
import { addApiOptions, ApiError, createApi, openApi, type ApiOptions } from "../server/api.ts";
import { addCommand, idArgument, type CommandLine } from "../line/command-line.ts";
import { findAgentId } from "../server/find-agent.ts";
import { findProjectId } from "../server/find-project.ts";
import { forgetKey, keptKey } from "../server/kept-key.ts";
import { addFirst, MORE, printPage, type Page, type Table } from "../line/page.ts";
import { plainText } from "../line/terminal.ts";

type ApiKey = {
  id: string;
  name: string;
  hint: string;
  scopes: string[];
  projects: { id: string; handle: string }[] | null;
  agents: { id: string; handle: string; project: { handle: string } }[] | null;
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
  lastUsedAt: string | null;
};
type Options = ApiOptions & { json?: true };
type NewKey = Options & {
  scopes?: readonly string[];
  preset?: ApiKeyPreset["id"];
  project?: string[];
  agent?: string[];
  expiresAt?: string;
};

const FIELDS =
  "id name hint scopes projects { id handle } agents { id handle project { handle } } createdAt expiresAt revokedAt lastUsedAt";
const LIST = `query ($first: Int!) { apiKeys(first: $first) { nodes { ${FIELDS} } ${MORE} } }`;
const CREATE = `mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { ${FIELDS} secret } }`;
const REVOKE = `mutation ($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { ${FIELDS} } }`;

export function addKeys(program: Command, line: CommandLine): void {
  const keys = program.command("keys").description("API keys of the organization, through the server's API.");
  addApiOptions(addFirst(addCommand(keys, "list", "The organization's API keys, newest first."))).action(
    (options: Options & { first: number }) => list(line, options),
  );
  addApiOptions(addCommand(keys, "create <name>", "Make an API key and print it: it is never shown again."))
    .addOption(scopesOption())
    .addOption(presetOption())
    .option("--project <project>", "narrow it to this project (handle or id; more than once for several)", another)
    .option(
      "--agent <agent>",
      "narrow it to this agent (handle, project/handle or id; more than once for several)",
      another,
    )
    .option("--expires-at <time>", "when it ends by itself, like 2027-01-01T00:00:00Z", timeOf)
    .action((name: string, options: NewKey) => create(line, name, options));
  const id = idArgument("apiKey", "keys list");
  addApiOptions(addCommand(keys, "revoke", "End an API key for good.").addArgument(id)).action(
    (apiKeyId: string, options: Options) => revoke(line, apiKeyId, options),
  );
}

const EVERY = "all";

const scopesOption = (): Option =>
  new Option("--scopes <scopes>", `what the key may do, like runs:start,runs:read (${EVERY}: ${ALL_SCOPES.join(", ")})`)
    .argParser((text) => (text === EVERY ? ALL_SCOPES : text.split(",")))
    .conflicts("preset");

const presetOption = (): Option =>
  new Option("--preset <preset>", "the scopes for a usual purpose, instead of --scopes").choices(
    API_KEY_PRESETS.map(({ id }) => id),
  );

const another = (value: string, before: string[] = []): string[] => [...before, value];

/** Throws OperatorError. */
function scopesOf({ scopes, preset: id, agent }: NewKey): readonly string[] {
  if (scopes) return scopes;
  const preset = API_KEY_PRESETS.find((one) => one.id === id);
  if (!preset) throw new OperatorError("say what the key may do: --scopes runs:start,runs:read or --preset read-only");
  if (preset.needsAgent && !agent)
    throw new OperatorError(`the preset ${preset.id} is for certain agents: name them with --agent`);
  return preset.scopes;
}

/** The server says what else is wrong with it; its sentence for this one is about GraphQL's types. */
function timeOf(text: string): string {
  if (/^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/i.test(text)) return text;
  throw new OperatorError("--expires-at must be a time with a zone, like 2027-01-01T00:00:00Z");
}

async function list(line: CommandLine, options: Options & { first: number }): Promise<void> {
  const { apiKeys } = await openApi(line, options).send<{ apiKeys: Page<ApiKey> }>(LIST, { first: options.first });
  printPage(line, apiKeys, tableAt(line.clock.now()), options);
}

const tableAt = (now: number): Table<ApiKey> => ({
  head: ["id", "key", "used", "ends", "name"],
  row: (key) => [key.id, `…${key.hint}`, dayOf(key.lastUsedAt), endOf(key, now), nameOf(key)],
  none: "there are no API keys",
});

/** `ci`, or `ci (demo demo/hello)` with the projects and agents that the key is narrowed to. */
function nameOf({ name, projects, agents }: ApiKey): string {
  const reach = [
    ...(projects ?? []).map(({ handle }) => handle),
    ...(agents ?? []).map(({ handle, project }) => `${project.handle}/${handle}`),
  ];
  const more = reach.length > 2 ? ` and ${reach.length - 2} more` : "";
  return plainText(reach.length === 0 ? name : `${name} (${reach.slice(0, 2).join(" ")}${more})`);
}

const dayOf = (time: string | null): string => time?.slice(0, 10) ?? "never";

function endOf({ revokedAt, expiresAt }: ApiKey, now: number): string {
  if (revokedAt) return "revoked";
  return expiresAt !== null && Date.parse(expiresAt) <= now ? "expired" : dayOf(expiresAt);
}

async function create(line: CommandLine, name: string, options: NewKey): Promise<void> {
  const scopes = scopesOf(options);
  const api = openApi(line, options);
  const projectIds = options.project && (await Promise.all(options.project.map((one) => findProjectId(api, one))));
  const agentIds = options.agent && (await Promise.all(options.agent.map((one) => findAgentId(api, one))));
  const input = {
    name,
    scopes,
    ...(projectIds && { projectIds }),
    ...(agentIds && { agentIds }),
    ...(options.expiresAt !== undefined && { expiresAt: options.expiresAt }),
  };
  type Data = { createApiKey: ApiKey & { secret: string } };
  const { createApiKey: key } = await api.send<Data>(CREATE, { input });
  if (options.json) return line.terminal.printJson(key);
  line.terminal.print(key.secret);
  line.terminal.say(`${key.id}: keep the key, it is not shown again`);
}

async function revoke(line: CommandLine, apiKeyId: string, options: Options): Promise<void> {
  const api = openApi(line, options);
  const { revokeApiKey: key } = await api.send<{ revokeApiKey: ApiKey }>(REVOKE, { input: { apiKeyId } });
  if (options.json) line.terminal.printJson(key);
  else line.terminal.print(`${key.id} is revoked (${plainText(key.name)}, …${key.hint})`);
  const kept = keptKey(line.config(), api.url);
  if (!kept?.key.endsWith(key.hint) || !(await isRefused(api.url, kept.key))) return;
  forgetKey(kept);
  line.terminal.say(`${kept.file} is removed: it held this key`);
}

const isRefused = (url: string, key: string): Promise<boolean> =>
  createApi(url, key)
    .send("{ me { id } }")
    .then(
      () => false,
      (error: unknown) => error instanceof ApiError && error.code === "UNAUTHENTICATED",
    );
