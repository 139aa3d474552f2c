import type { Command } from "commander";
import { createApiKey } from "../../auth/api-keys/create-api-key.ts";
import { makePassword } from "../../auth/accounts/create-organization.ts";
import { ALL_SCOPES } from "../../auth/scopes.ts";
import { createFirstOwner } from "../../auth/accounts/setup.ts";
import { nameOfEmail } from "../../auth/accounts/users.ts";
import { encodeId } from "../../lib/ids.ts";
import { openAccounts } from "../server/accounts.ts";
import { addCommand, type CommandLine } from "../line/command-line.ts";
import { keepKey } from "../server/kept-key.ts";

type Options = { json?: true; organization: string; name?: string; email?: string; password?: string };

const EMAIL = "owner@localhost";

/** The UI's setup form, for an operator who may read the data folder. */
export function addSetup(program: Command, line: CommandLine): void {
  addCommand(
    program,
    "setup",
    "Make the first organization, its owner and an API key: the key is printed, and kept beside the server.",
  )
    .option("--organization <name>", "the organization's name", "My organization")
    .option("--name <name>", "the owner's name (the part of the e-mail before the @)")
    .option("--email <email>", `the owner's e-mail, for signing in (ADMIN_EMAIL, else ${EMAIL})`)
    .option("--password <password>", "the owner's password (ADMIN_PASSWORD, else a new one is made and printed)")
    .action((options: Options) => setUp(line, options));
}

async function setUp(line: CommandLine, options: Options): Promise<void> {
  const config = line.config();
  const email = options.email ?? config.admin?.email ?? EMAIL;
  const chosen = options.password ?? config.admin?.password;
  const password = chosen ?? makePassword();
  const name = options.name ?? nameOfEmail(email);
  await using accounts = await openAccounts(line, config);
  const { organization, user, caller } = await createFirstOwner(accounts.auth, {
    organization: options.organization,
    name,
    email,
    password,
  });
  const { secret } = await createApiKey(accounts.auth, caller, { name: "first", scopes: ALL_SCOPES });
  const made = {
    organizationId: encodeId("organization", organization.id),
    organization: organization.name,
    userId: encodeId("user", user.id),
    email: user.email,
    ...(chosen === undefined && { password }),
    apiKey: secret,
  };
  const kept = keepKey(line, config, secret);
  if (options.json) return line.terminal.printJson(made);
  const { terminal } = line;
  terminal.say(`organization  ${made.organization} (${made.organizationId})`);
  terminal.say(`owner         ${made.email}`);
  if (chosen === undefined) terminal.say(`password      ${password}: keep it, it is not shown again`);
  if (kept !== undefined) terminal.say(`API key       kept in ${kept} for the commands beside the server`);
  terminal.print(secret);
}
