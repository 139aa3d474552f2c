import type { Command } from "commander";
import { makePassword } from "../../auth/accounts/create-organization.ts";
import { findUser, resetPassword } from "../../auth/accounts/users.ts";
import { OperatorError } from "../../lib/errors.ts";
import { encodeId } from "../../lib/ids.ts";
import { openAccounts } from "../server/accounts.ts";
import { addCommand, type CommandLine } from "../line/command-line.ts";

export function addUsers(program: Command, line: CommandLine): void {
  const user = program.command("user").alias("users").description("Users, for anyone who may read the data folder.");
  addCommand(user, "reset-password <email>", "Give a user a new password, print it and end the user's sessions.")
    .option("--password <password>", "the new password (one is made)")
    .action((email: string, options: { json?: true; password?: string }) => reset(line, email, options));
}

async function reset(line: CommandLine, email: string, options: { json?: true; password?: string }): Promise<void> {
  const password = options.password ?? makePassword();
  await using accounts = await openAccounts(line, line.config());
  if (!(await findUser(accounts.auth, email))) throw new OperatorError(`there is no user with the e-mail ${email}`);
  const user = await resetPassword(accounts.auth, { email, password });
  const shown = options.password === undefined ? { password } : {};
  if (options.json) line.terminal.printJson({ userId: encodeId("user", user.id), email: user.email, ...shown });
  else if (shown.password !== undefined) line.terminal.print(password);
  line.terminal.say(`${user.email} has a new password. Sessions end at once, on a running server within 5 s.`);
}
