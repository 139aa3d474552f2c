import type { Command } from "commander";
import type { Role } from "../../storage/schema.ts";
import { addApiOptions, openApi, type ApiOptions } from "../server/api.ts";
import { addCommand, idArgument, type CommandLine } from "../line/command-line.ts";
import { addFirst, minuteOf, MORE, printPage, type Page, type Table } from "../line/page.ts";
import { plainText } from "../line/terminal.ts";

type Invitation = { id: string; email: string | null; role: Role; createdAt: string; expiresAt: string };
type Options = ApiOptions & { json?: true };

const FIELDS = "id email role createdBy { kind id name } createdAt expiresAt";
const LIST = `query ($first: Int!) { invitations(first: $first) { nodes { ${FIELDS} } ${MORE} } }`;
const REVOKE = `mutation ($input: RevokeInvitationInput!) { revokeInvitation(input: $input) { ${FIELDS} } }`;

export function addInvitations(program: Command, line: CommandLine): void {
  const invitations = program
    .command("invitations")
    .description("Links of `members invite` that nobody has used yet, through the server's API.");
  addApiOptions(
    addFirst(addCommand(invitations, "list", "Open invitations, newest first, without their links.")),
  ).action((options: Options & { first: number }) => list(line, options));
  const id = idArgument("invitation", "invitations list");
  addApiOptions(addCommand(invitations, "revoke", "Make an invitation's link void for good.").addArgument(id)).action(
    (invitationId: string, options: Options) => revoke(line, invitationId, options),
  );
}

const TABLE: Table<Invitation> = {
  head: ["id", "role", "until", "for"],
  row: ({ id, role, expiresAt, email }) => [id, role, minuteOf(expiresAt), forWhom(email)],
  none: "there are no open invitations",
};

const forWhom = (email: string | null): string => plainText(email ?? "anyone");

async function list(line: CommandLine, options: Options & { first: number }): Promise<void> {
  const api = openApi(line, options);
  const { invitations } = await api.send<{ invitations: Page<Invitation> }>(LIST, { first: options.first });
  printPage(line, invitations, TABLE, options);
}

async function revoke(line: CommandLine, invitationId: string, options: Options): Promise<void> {
  type Data = { revokeInvitation: Invitation };
  const { revokeInvitation: ended } = await openApi(line, options).send<Data>(REVOKE, { input: { invitationId } });
  if (options.json) line.terminal.printJson(ended);
  else line.terminal.print(`${ended.id} is revoked (${ended.role}, for ${forWhom(ended.email)})`);
}
