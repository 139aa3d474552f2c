/** Mail, as the operator sees it: whether it can be sent, and what waits or was given up. */
import type { Command } from "commander";
import { OperatorError, shortened } from "../../lib/errors.ts";
import { isEmail } from "../../lib/mail/email-address.ts";
import { newId } from "../../lib/ids.ts";
import { listMails, type ListedMail } from "../../mail/list-mails.ts";
import { MailFailure } from "../../mail/failure.ts";
import { createTransport } from "../../mail/transport.ts";
import { addCommand, type CommandLine } from "../line/command-line.ts";
import { addFirst, minuteOf, printPage, type Table } from "../line/page.ts";
import { plainText } from "../line/terminal.ts";
import { openBeside } from "../server/beside.ts";

export function addMail(program: Command, line: CommandLine): void {
  const mail = program.command("mail").description("Mail, as SMTP_URL and MAIL_FROM have it sent.");
  addCommand(mail, "test <address>", "Send a mail to this address now, and say what the SMTP server answered.").action(
    (address: string, options: { json?: true }) => sendTest(line, address, options),
  );
  addFirst(addCommand(mail, "list", "The mails that wait to be sent or were given up, newest first, and why.")).action(
    (options: { json?: true; first: number }) => list(line, options),
  );
}

async function sendTest(line: CommandLine, address: string, { json }: { json?: true }): Promise<void> {
  if (!isEmail(address)) throw new OperatorError(`${JSON.stringify(shortened(address))} is not an e-mail address`);
  const { mail } = line.config();
  if (!mail) throw new OperatorError("mail is not configured: set SMTP_URL and MAIL_FROM");
  const transport = createTransport(mail, line.clock);
  const letter = {
    messageId: transport.messageIdOf(newId()),
    date: new Date(line.clock.now()),
    to: [{ name: "", address }],
    subject: "A test of Autograph's mail",
    text: "Autograph can send mail: this one was sent by `autograph mail test`.\n",
  };
  try {
    const sent = await transport.send(letter, new AbortController().signal);
    if (json) line.terminal.printJson({ server: transport.name, ...sent });
    else line.terminal.print(`sent to ${plainText(address)} by ${transport.name}: ${plainText(sent.response)}`);
  } catch (error) {
    if (error instanceof MailFailure) throw new OperatorError(error.message);
    throw error;
  }
}

const TABLE: Table<ListedMail> = {
  head: ["state", "queued", "tries", "kind", "to", "last problem"],
  row: ({ state, queuedAt, tries, kind, recipient, problem }) => [
    state,
    minuteOf(queuedAt),
    String(tries),
    kind,
    plainText(recipient),
    plainText(problem ?? ""),
  ],
  none: "no mail waits, and none was given up in the last seven days",
};

async function list(line: CommandLine, options: { json?: true; first: number }): Promise<void> {
  await using beside = await openBeside(line, line.config());
  const { items, hasMore } = await listMails(beside.database, options.first);
  printPage(line, { nodes: items, pageInfo: { hasNextPage: hasMore } }, TABLE, options);
}
