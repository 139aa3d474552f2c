import { randomBytes } from "node:crypto";
import type { Command } from "commander";
import { ownerCaller } from "../../auth/caller.ts";
import { createOrganization, makePassword } from "../../auth/accounts/create-organization.ts";
import { isEmpty } from "../../auth/accounts/users.ts";
import type { Config } from "../../config.ts";
import { OperatorError } from "../../lib/errors.ts";
import { openAccounts } from "../server/accounts.ts";
import { addCommand, type CommandLine } from "../line/command-line.ts";
import { playDemo, type DemoAccount } from "./play-demo.ts";
import { isLoopbackUrl, isReady, serverUrl, servingProcess } from "../server/server-address.ts";
import { startTemporaryServer } from "./temporary-server.ts";

type Options = { json?: true; own?: true; pause: number };

const LONGEST_PAUSE_SECONDS = 60;

export function addDemo(program: Command, line: CommandLine): void {
  addCommand(
    program,
    "demo",
    "Play the main job in this terminal, over the API of the running server or of one of its own.",
  )
    .option("--own", "start a server for it in any case, in a temporary folder")
    .option("--pause <seconds>", "between the parts, for who reads along", secondsOf, 1.5)
    .action((options: Options) => demo(line, options));
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== "" && seconds >= 0 && seconds <= LONGEST_PAUSE_SECONDS) return seconds;
  throw new OperatorError(`--pause must be seconds from 0 to ${LONGEST_PAUSE_SECONDS}`);
}

async function demo(line: CommandLine, options: Options): Promise<void> {
  const config = line.config();
  const running = options.own ? undefined : await runningUrl(line, config);
  await using stack = new AsyncDisposableStack();
  if (running === undefined && !options.json) line.terminal.print("Starting a server in a temporary folder …");
  const own = running === undefined ? stack.use(await line.ending.hold(startTemporaryServer(line))) : undefined;
  const account = await makeAccount(
    line,
    own ? { ...config, databaseUrl: undefined, dataFolder: own.dataFolder } : config,
  );
  await playDemo(line, {
    url: own?.url ?? running!,
    account,
    isOwn: own !== undefined,
    pauseMs: options.pause * 1000,
    json: options.json,
  });
}

/**
 * Uses only a server on this machine whose database this command can reach, because the demo creates an account there. And
 * never one that waits for its first owner, as that would void its setup link.
 */
async function runningUrl(line: CommandLine, config: Config): Promise<string | undefined> {
  const serving = servingProcess(config);
  if (config.databaseUrl === undefined && !serving) return undefined;
  const url = serverUrl(config);
  const isPublic = [serving?.url ?? url, url].some((one) => !isLoopbackUrl(one));
  if (isPublic || !(await isReady(url))) return undefined;
  await using accounts = await openAccounts(line, config);
  return (await isEmpty(accounts.auth)) ? undefined : url;
}

/** A new organization with the examples as its agents, so that the demo touches nothing else. */
async function makeAccount(line: CommandLine, config: Config): Promise<DemoAccount> {
  await using accounts = await openAccounts(line, config);
  const email = `ada-${randomBytes(3).toString("hex")}@example.org`;
  const password = makePassword();
  const { organization, owner } = await createOrganization(accounts.auth, {
    name: "Autograph demo",
    plan: "enterprise",
    owner: { email, password, name: "Ada" },
  });
  await accounts.publishDemo(ownerCaller(organization.id, owner));
  return { email, password };
}
