import { Argument, Option, type Command } from "commander";
import { ROLES } from "../auth/scopes.ts";
import type { Role } from "../storage/schema.ts";
import { addApiOptions, openApi, type ApiOptions } from "./api.ts";
import { addCommand, idArgument, type CommandLine } from "./command-line.ts";
import { addFirst, minuteOf, MORE, printPage, type Page, type Table } from "./page.ts";
import { plainText } from "./terminal.ts";

type Member = { id: string; role: Role; createdAt: string; user: { name: string; email: string | null } };
type Invitation = { id: string; email: string | null; role: Role; expiresAt: string; url: string };
type Options = ApiOptions & { json?: true };

const FIELDS = "id role createdAt user { name email }";
const LIST = `query ($first: Int!) { members(first: $first) { nodes { ${FIELDS} } ${MORE} } }`;
const INVITE = `mutation ($input: InviteMemberInput!) { inviteMember(input: $input) { id email role createdAt expiresAt url } }`;
const SET = `mutation ($input: SetMemberRoleInput!) { setMemberRole(input: $input) { ${FIELDS} } }`;
const REMOVE = `mutation ($input: RemoveMemberInput!) { removeMember(input: $input) { ${FIELDS} } }`;

export function addMembers(program: Command, line: CommandLine): void {
  const members = program.command("members").description("People of the organization, through the server's API.");
  addApiOptions(addFirst(addCommand(members, "list", "The organization's members, who joined last first."))).action(
    (options: Options & { first: number }) => list(line, options),
  );
  addApiOptions(
    addCommand(members, "invite", "Print a link that makes whoever opens it a member, once, within 7 days."),
  )
    .addOption(new Option("--role <role>", "what they may do").choices(ROLES).makeOptionMandatory())
    .option("--email <email>", "only the user with this e-mail may use it (whoever has the link)")
    .action((options: Options & { role: Role; email?: string }) => invite(line, options));
  const id = (): Argument => idArgument("member", "members list");
  addApiOptions(addCommand(members, "set-role", "Give a member another role.").addArgument(id()))
    .addArgument(new Argument("<role>", "what they may do from now on").choices(ROLES))
    .action((memberId: string, role: Role, options: Options) => setRole(line, memberId, role, options));
  addApiOptions(
    addCommand(members, "remove", "End a membership. What the person made stays.").addArgument(id()),
  ).action((memberId: string, options: Options) => remove(line, memberId, options));
}

const TABLE: Table<Member> = {
  head: ["id", "role", "since", "who"],
  row: ({ id, role, createdAt, user }) => [id, role, minuteOf(createdAt), nameOf(user)],
  none: "there are no members",
};

const nameOf = ({ name, email }: Member["user"]): string => plainText(email === null ? name : `${email} (${name})`);

async function list(line: CommandLine, options: Options & { first: number }): Promise<void> {
  const { members } = await openApi(line, options).send<{ members: Page<Member> }>(LIST, { first: options.first });
  printPage(line, members, TABLE, options);
}

async function invite(line: CommandLine, options: Options & { role: Role; email?: string }): Promise<void> {
  const { role, email } = options;
  const input = { role, ...(email !== undefined && { email }) };
  type Data = { inviteMember: Invitation };
  const { inviteMember: made } = await openApi(line, options).send<Data>(INVITE, { input });
  if (options.json) return line.terminal.printJson(made);
  line.terminal.print(made.url);
  line.terminal.say(`it works once, until ${minuteOf(made.expiresAt)}, and is not shown again`);
}

async function setRole(line: CommandLine, memberId: string, role: Role, options: Options): Promise<void> {
  type Data = { setMemberRole: Member };
  const { setMemberRole: member } = await openApi(line, options).send<Data>(SET, { input: { memberId, role } });
  if (options.json) line.terminal.printJson(member);
  else line.terminal.print(`${member.id} is ${member.role} (${nameOf(member.user)})`);
}

async function remove(line: CommandLine, memberId: string, options: Options): Promise<void> {
  type Data = { removeMember: Member };
  const { removeMember: member } = await openApi(line, options).send<Data>(REMOVE, { input: { memberId } });
  if (options.json) line.terminal.printJson(member);
  else line.terminal.print(`${member.id} is removed (${nameOf(member.user)})`);
}
