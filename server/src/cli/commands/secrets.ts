import { Argument, type Command } from "commander";
import { openSecretKeys } from "../../auth/tokens/secret-key.ts";
import { OperatorError } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import { rotateKey, sealedSecrets } from "../../secrets/rotate-key.ts";
import { sealedRefreshTokens } from "../../secrets/refresh-tokens.ts";
import { createSealer } from "../../secrets/seal.ts";
import { findDataFolder } from "../../postgres/data-folder.ts";
import { sealedModelKeys } from "../../models/store.ts";
import { sealedTokens } from "../../triggers/webhooks/sealed-tokens.ts";
import { createTokenSealer } from "../../triggers/webhooks/token.ts";
import { addApiOptions, openApi, type ApiOptions } from "../server/api.ts";
import { openBeside } from "../server/beside.ts";
import { addCommand, idArgument, type CommandLine } from "../line/command-line.ts";
import { findProjectId } from "../server/find-project.ts";
import { readAtMost } from "../line/given-file.ts";
import { addFirst, minuteOf, MORE, printPage, type Page, type Table } from "../line/page.ts";

type Secret = { id: string; name: string; project: { id: string; handle: string }; updatedAt: string };
type Options = ApiOptions & { json?: true };

const FIELDS = "id name project { id handle } createdAt updatedAt";
const LIST = `query ($projectId: ID, $first: Int!) {
  secrets(projectId: $projectId, first: $first) { nodes { ${FIELDS} usedBy { id handle } } ${MORE} }
}`;
const SET = `mutation ($input: SetSecretInput!) { setSecret(input: $input) { ${FIELDS} } }`;
const DELETE = `mutation ($input: DeleteSecretInput!) { deleteSecret(input: $input) { ${FIELDS} } }`;

export function addSecrets(program: Command, line: CommandLine): void {
  const secrets = program.command("secrets").description("Secrets of projects, for the calls of agents.");
  addApiOptions(addFirst(addCommand(secrets, "list", "Secrets, newest first, without their values.")))
    .option("--project <project>", "only those of this project, by handle or id")
    .action((options: Options & { first: number; project?: string }) => list(line, options));
  addApiOptions(addCommand(secrets, "set <name>", "Make a secret, or give it another value, read from stdin."))
    .addArgument(new Argument("[value]").argParser(refuseValue))
    .requiredOption("--project <project>", "the project whose agents may use it, by handle or id")
    .action((name: string, _value: undefined, options: Options & { project: string }) => set(line, name, options));
  const id = idArgument("secret", "secrets list");
  addApiOptions(addCommand(secrets, "delete", "Delete a secret for good.").addArgument(id)).action(
    (secretId: string, options: Options) => remove(line, secretId, options),
  );
  addCommand(
    secrets,
    "rotate-key",
    "Encrypt all secrets and the URLs of webhooks again; needs access to the data folder.",
  ).action((options: { json?: true }) => rotate(line, options));
}

const TABLE: Table<Secret> = {
  head: ["id", "set", "project", "name"],
  row: ({ id, updatedAt, project, name }) => [id, minuteOf(updatedAt), project.handle, name],
  none: "there are no secrets",
};

async function list(line: CommandLine, options: Options & { first: number; project?: string }): Promise<void> {
  const api = openApi(line, options);
  const { first, project } = options;
  const projectId = project === undefined ? null : await findProjectId(api, project);
  const { secrets } = await api.send<{ secrets: Page<Secret> }>(LIST, { first, projectId });
  printPage(line, secrets, TABLE, options);
}

async function set(line: CommandLine, name: string, options: Options & { project: string }): Promise<void> {
  const value = await readValue(line, name);
  const api = openApi(line, options);
  const input = { projectId: await findProjectId(api, options.project), name, value };
  const { setSecret: secret } = await api.send<{ setSecret: Secret }>(SET, { input });
  if (options.json) line.terminal.printJson(secret);
  else line.terminal.print(`${secret.id} is set (${secret.project.handle}/${secret.name})`);
}

/** Commander's own sentence would repeat the value, into the log of whatever runs this. */
function refuseValue(): never {
  throw new OperatorError("the value is read from stdin, where no history and no list of processes has it: … < file");
}

/** Never from an argument: those are in the shell's history and in the list of processes. One newline at the end is dropped. */
async function readValue(line: CommandLine, name: string): Promise<string> {
  const stdin = line.stdin();
  if (stdin.isTTY)
    throw new OperatorError(`pipe the value in, so that no screen shows it: autograph secrets set ${name} … < file`);
  const bytes = await readAtMost(stdin, LIMITS.secretBytes + "\r\n".length);
  if (!bytes) throw new OperatorError(`the value on stdin has more than the ${LIMITS.secretBytes} bytes allowed`);
  return bytes.toString().replace(/\r?\n$/, "");
}

async function remove(line: CommandLine, secretId: string, options: Options): Promise<void> {
  const { deleteSecret: secret } = await openApi(line, options).send<{ deleteSecret: Secret }>(DELETE, {
    input: { secretId },
  });
  if (options.json) line.terminal.printJson(secret);
  else line.terminal.print(`${secret.id} is deleted (${secret.project.handle}/${secret.name})`);
}

async function rotate(line: CommandLine, options: { json?: true }): Promise<void> {
  const config = line.config();
  await using beside = await openBeside(line, config);
  const { database } = beside;
  const dataFolder = findDataFolder(config.dataFolder).folder;
  const { derive } = await openSecretKeys(database, { configured: config.secretKey, dataFolder });
  const counts = await rotateKey(database, line.clock, {
    secrets: sealedSecrets(createSealer(derive)),
    webhookTokens: sealedTokens(createTokenSealer(derive)),
    modelKeys: sealedModelKeys(createSealer(derive)),
    refreshTokens: sealedRefreshTokens(createSealer(derive)),
  });
  if (options.json) line.terminal.printJson(counts);
  else
    line.terminal.print(
      `encrypted again: ${counts.secrets} secrets, ${counts.webhookTokens} webhook tokens, ${counts.modelKeys} keys of model connections, ${counts.refreshTokens} refresh tokens`,
    );
}
