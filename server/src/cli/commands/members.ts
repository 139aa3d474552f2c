import { Argument, Option, type Command } from "commander";
import { ROLES } from "../../auth/scopes.ts";
import type { Role } from "../../storage/schema.ts";
import { addApiOptions, openApi, type ApiOptions } from "../server/api.ts";
import { addCommand, type CommandLine } from "../line/command-line.ts";
import { findMemberId } from "../server/find-member.ts";
import { addFirst, minuteOf, MORE, printPage, type Page, type Table } from "../line/page.ts";
import { plainText } from "../line/terminal.ts";

type Member = { id: string; role: Role; createdAt: string; user: { name: string; email: string | null } };
type Invitation = { id: string; email: string | null; role: Role; expiresAt: string; url: string; isMailed: boolean };
type Options = ApiOptions & { json?: true };

const FIELDS = "id role createdAt user { name email }";
const LIST = `query ($first: Int!) { members(first: $first) { nodes { ${FIELDS} } ${MORE} } }`;
const INVITE = `mutation ($input: InviteMemberInput!) { inviteMember(input: $input) { id email role createdAt expiresAt url isMailed } }`;
const SET = `mutation ($input: SetMemberRoleInput!) { setMemberRole(input: $input) { ${FIELDS} } }`;
const REMOVE = `mutation ($input: RemoveMemberInput!) { removeMember(input: $input) { ${FIELDS} } }`;

export function addMembers(program: Command, line: CommandLine): void {
  const members = program.command("members").description("People of the organization, through the server's API.");
  addApiOptions(addFirst(addCommand(members, "list", "The organization's members, newest first."))).action(
    (options: Options & { first: number }) => list(line, options),
  );
  addApiOptions(addCommand(members, "invite", "Print a link that makes its first user a member, once, within 7 days."))
    .addOption(new Option("--role <role>", "what they may do").choices(ROLES).makeOptionMandatory())
    .option("--email <email>", "only the user with this e-mail may use it (default: anyone with the link)")
    .action((options: Options & { role: Role; email?: string }) => invite(line, options));
  const who = (): Argument => new Argument("<member>", "the e-mail, or the id as `autograph members list` shows it");
  addApiOptions(addCommand(members, "set-role", "Give a member another role.").addArgument(who()))
    .addArgument(new Argument("<role>", "what they may do from now on").choices(ROLES))
    .action((member: string, role: Role, options: Options) => setRole(line, member, role, options));
  addApiOptions(
    addCommand(members, "remove", "End a membership. What the person made stays.").addArgument(who()),
  ).action((member: string, options: Options) => remove(line, member, options));
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
  if (made.email !== null)
    line.terminal.say(
      made.isMailed ? `it was also mailed to ${plainText(made.email)}` : "it was not mailed: pass it on yourself",
    );
}

async function setRole(line: CommandLine, name: string, role: Role, options: Options): Promise<void> {
  type Data = { setMemberRole: Member };
  const api = openApi(line, options);
  const input = { memberId: await findMemberId(api, name), role };
  const { setMemberRole: member } = await api.send<Data>(SET, { input });
  if (options.json) line.terminal.printJson(member);
  else line.terminal.print(`${member.id} is ${member.role} (${nameOf(member.user)})`);
}

async function remove(line: CommandLine, name: string, options: Options): Promise<void> {
  type Data = { removeMember: Member };
  const api = openApi(line, options);
  const input = { memberId: await findMemberId(api, name) };
  const { removeMember: member } = await api.send<Data>(REMOVE, { input });
  if (options.json) line.terminal.printJson(member);
  else line.terminal.print(`${member.id} is removed (${nameOf(member.user)})`);
}
