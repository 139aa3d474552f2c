import { randomBytes } from "node:crypto";
import { isIPv6 } from "node:net";
import type { Command } from "commander";
import { publishAgent } from "../../agents/publish-agent.ts";
import { readAgent } from "../../agents/published.ts";
import { actorOf, ownerCaller, type Acting } from "../../auth/caller.ts";
import { openSecretKeys } from "../../auth/tokens/secret-key.ts";
import { createApiKey } from "../../auth/api-keys/create-api-key.ts";
import { createOrganization, makePassword } from "../../auth/accounts/create-organization.ts";
import { ALL_SCOPES } from "../../auth/scopes.ts";
import { createProject } from "../../projects/projects.ts";
import { isEmpty } from "../../auth/accounts/users.ts";
import type { Config } from "../../config.ts";
import { addressesIn } from "../../lib/address-ranges.ts";
import { OperatorError } from "../../lib/errors.ts";
import { decodeId, encodeId } from "../../lib/ids.ts";
import { findDataFolder } from "../../postgres/data-folder.ts";
import type { Plan } from "../../storage/schema.ts";
import { insertNew } from "../../triggers/create-trigger.ts";
import { configured, GIVEN_AT } from "../../triggers/kinds/kinds.ts";
import { readTokens } from "../../triggers/webhooks/token-store.ts";
import { createTokenSealer } from "../../triggers/webhooks/token.ts";
import { urlOf } from "../../triggers/webhooks/webhook-url.ts";
import { openAccounts, type Accounts } from "../server/accounts.ts";
import { addCommand, type CommandLine } from "../line/command-line.ts";
import { sandboxDefinitions, SANDBOX_AGENTS, type SandboxAgent } from "./sandbox-agents.ts";
import {
  isLoopbackUrl,
  isReady,
  serversConfig,
  serverUrl,
  servingProcess,
  type ServersConfig,
} from "../server/server-address.ts";

type Options = { json?: true; sink?: string; force?: true };

/** Nothing listens on tcpmux's port anywhere today. */
const CLOSED_PORT = "http://127.0.0.1:1/";

const FIRST =
  "autograph: there was no owner yet: the setup link is void now, and `autograph org create` makes organizations of your own";

export function addSandbox(program: Command, line: CommandLine): void {
  addCommand(
    program,
    "sandbox",
    "Make a fresh world for client developers and load tests: accounts, keys and five agents.",
  )
    .option("--sink <url>", "where the agent `call` posts to (a closed port)")
    .option("--force", "also where PUBLIC_URL is not a loopback address")
    .addHelpText("after", "\nPrints one JSON object, with or without --json; each time it is another world.")
    .action((options: Options) => makeSandbox(line, options));
}

async function makeSandbox(line: CommandLine, options: Options): Promise<void> {
  const config = line.config();
  const sink = sinkOf(options.sink);
  refusePublic(config, options);
  warnOfGuard(line, config, sink);
  await using accounts = await openAccounts(line, config);
  if (await isEmpty(accounts.auth)) line.terminal.say(FIRST);
  const suffix = randomBytes(5).toString("hex");
  const first = await makeWorld(accounts, `sandbox-${suffix}`, "enterprise");
  const second = await makeWorld(accounts, `sandbox-${suffix}-2`, "enterprise");
  const free = await makeWorld(accounts, `sandbox-${suffix}-free`, "free");
  const { projectId, agents } = await makeAgents(accounts, first.caller, `sandbox-${suffix}`, sink);
  const webhook = await makeWebhook(line, config, accounts, first.caller, agents.echo);
  line.terminal.printJson({
    email: first.email,
    password: first.password,
    apiKey: first.apiKey,
    email2: second.email,
    password2: second.password,
    apiKey2: second.apiKey,
    freeApiKey: free.apiKey,
    projectId,
    agents,
    webhook,
  });
  const url = serverUrl(config);
  if (!(await isReady(url)))
    line.terminal.say(`autograph: no server answers at ${url} at the moment; the sandbox is there when one does`);
}

/** `{name}` in an endpoint is a placeholder, so braces are written as the URL standard's escapes. */
function sinkOf(text = CLOSED_PORT): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol)) return url.href.replaceAll("{", "%7B").replaceAll("}", "%7D");
  throw new OperatorError(`--sink must be an http or https URL, not ${text}`);
}

/** Accounts whose passwords appear in a test's output don't belong on a server that others can reach. */
function refusePublic(config: Config, { force }: Options): void {
  const urls = [config.publicUrl, servingProcess(config)?.url].filter((url) => url !== undefined && URL.canParse(url));
  const open = urls.find((url) => !isLoopbackUrl(url!));
  if (open === undefined || force) return;
  throw new OperatorError(
    `${open} is not a loopback address: the sandbox is for development; --force makes it all the same`,
  );
}

function warnOfGuard({ terminal }: CommandLine, config: Config, sink: string): void {
  const { hostname } = new URL(sink);
  if (!isLoopbackUrl(sink)) return;
  const address = hostname === "localhost" ? "127.0.0.1" : hostname.replace(/^\[|\]$/g, "");
  const servers = serversConfig(config);
  if (addressesIn(servers.config.outboundAllow)(address)) return;
  const setting = `OUTBOUND_ALLOW=${isIPv6(address) ? `${address}/128` : "127.0.0.1/32"}`;
  terminal.say(`autograph: ${GUARD[servers.from](setting, hostname)}`);
}

const FAILS = (host: string): string => `it refuses calls to ${host}, and runs of the agent \`call\` fail`;
/** Claims no more than we know: the server's own settings, or only those of this command. */
const GUARD: Record<ServersConfig["from"], (setting: string, host: string) => string> = {
  server: (setting, host) => `the server was started without ${setting}: ${FAILS(host)}`,
  "no server": (setting, host) => `no server runs yet: start it with ${setting}, else ${FAILS(host)}`,
  own: (setting, host) =>
    `this command's settings are without ${setting}, and the server's can't be seen: if it was started without, too, ${FAILS(host)}`,
};

type World = { caller: Acting; email: string; password: string; apiKey: string };

async function makeWorld({ auth }: Accounts, name: string, plan: Plan): Promise<World> {
  const email = `${name}@example.com`;
  const password = makePassword();
  const { organization, owner } = await createOrganization(auth, { name, plan, owner: { email, password } });
  const caller = ownerCaller(organization.id, owner);
  const { secret } = await createApiKey(auth, caller, { name: "sandbox", scopes: ALL_SCOPES });
  return { caller, email, password, apiKey: secret };
}

/** The webhook of the agent `echo`. Its token is sealed with the installation's key, so that the API shows it. */
async function makeWebhook(
  { clock, log }: CommandLine,
  config: Config,
  { auth: { database }, agents }: Accounts,
  caller: Acting,
  agentId: string,
): Promise<{ agentId: string; token: string }> {
  const dataFolder = findDataFolder(config.dataFolder).folder;
  const { derive } = await openSecretKeys(database, { configured: config.secretKey, dataFolder });
  const making = { clock, log, sealer: createTokenSealer(derive), url: "" };
  const agent = await readAgent(agents, caller, decodeId("agent", agentId)!);
  const given = { type: "webhook", keys: {}, policy: {} } as const;
  const trigger = await database.transaction((query) =>
    insertNew(making, query, {
      agent: agent!,
      name: "sandbox",
      type: given.type,
      ...configured(given, GIVEN_AT, []),
      isManaged: false,
      createdBy: actorOf(caller),
    }),
  );
  const sealed = (await readTokens(database, trigger.organizationId, [trigger.id])).get(trigger.id);
  return { agentId, token: (await urlOf(making, trigger, sealed)).split("/").at(-1)! };
}

type MadeAgents = { projectId: string; agents: Record<SandboxAgent, string> };

async function makeAgents(
  { auth, agents }: Accounts,
  caller: Acting,
  handle: string,
  sink: string,
): Promise<MadeAgents> {
  const { id: projectId } = await createProject(auth, caller, { handle, name: "Sandbox" });
  const definitions = sandboxDefinitions(handle, sink);
  const ids = {} as Record<SandboxAgent, string>;
  for (const name of SANDBOX_AGENTS) {
    const { id } = await publishAgent(agents, caller, { projectId, definition: definitions[name] });
    ids[name] = encodeId("agent", id);
  }
  return { projectId: encodeId("project", projectId), agents: ids };
}
