import { createInterface } from "node:readline";
import type { Command } from "commander";
import { createVerifier, lineOf, type Verified } from "../../audit/chain.ts";
import { exportAuditEvents } from "../../audit/read-events.ts";
import { messageOf, OperatorError } from "../../lib/errors.ts";
import { encodeId } from "../../lib/ids.ts";
import { openBeside } from "../server/beside.ts";
import { addCommand, type CommandLine } from "../line/command-line.ts";
import { findOrganization } from "../server/find-organization.ts";
import { nameOf, openGiven } from "../line/given-file.ts";
import { plainText } from "../line/terminal.ts";
import { timeOr } from "../line/time-option.ts";

type ExportOptions = { json?: true; org?: string; createdFrom?: Date; createdBefore?: Date };
type VerifyOptions = { json?: true; head?: string };

export function addAudit(program: Command, line: CommandLine): void {
  const audit = program
    .command("audit")
    .description("Who did what from where, for anyone who may read the data folder.");
  addCommand(audit, "export", "Print an organization's events, oldest first, one JSON object a line.")
    .option("--org <organization>", "the organization, by id or name (left out: the only one)")
    .option("--created-from <time>", "from this time on, like 2026-11-01T00:00:00Z", timeOf)
    .option("--created-before <time>", "up to this time, exclusive", timeOf)
    .action((options: ExportOptions) => print(line, options));
  addCommand(
    audit,
    "verify <file>",
    "Check that no line of an export was changed, removed, inserted or moved. - is stdin.",
  )
    .option("--head <hash>", "the hash of an event that must be in it, as noted at an earlier export", hashOf)
    .action((file: string, options: VerifyOptions) => verify(line, file, options));
}

const timeOf = timeOr("--created-from and --created-before must be times with a zone, like 2026-11-01T00:00:00Z");

function hashOf(text: string): string {
  if (/^[0-9a-f]{64}$/i.test(text)) return text.toLowerCase();
  throw new OperatorError("--head must be the hash of an event: 64 characters from 0 to 9 and a to f");
}

async function print(line: CommandLine, { org, createdFrom, createdBefore }: ExportOptions): Promise<void> {
  const { terminal } = line;
  await using beside = await openBeside(line, line.config());
  const { database } = beside;
  const organization = await findOrganization({ database }, org);
  let count = 0;
  let head: string | undefined;
  for await (const event of exportAuditEvents(database, organization.id, { createdFrom, createdBefore })) {
    terminal.print(lineOf(event));
    count++;
    head = event.hash;
  }
  const name = `${plainText(organization.name)} (${encodeId("organization", organization.id)})`;
  if (head === undefined) terminal.say(`there are no such events of ${name}`);
  else terminal.say(`${countOf(count)} of ${name}; keep the head in another place: ${head}`);
}

const countOf = (count: number): string => (count === 1 ? "1 event" : `${count} events`);

async function verify(line: CommandLine, file: string, { json, head }: VerifyOptions): Promise<void> {
  const { found, headAt } = await verifyFile(line, file, head);
  const { organizationId, first, last, previous } = found;
  if (head !== undefined && headAt === undefined)
    throw new OperatorError(
      `${nameOf(file)} does not have the event with the hash ${head}: events at its end were removed, or it is another chain`,
    );
  const facts = { organizationId, first, last, previous, head: found.head };
  if (json) return line.terminal.printJson(facts);
  line.terminal.print(`${countOf(last - first + 1)} of ${organizationId}, number ${first} to ${last}: unbroken`);
  if (headAt !== undefined) line.terminal.print(`number ${headAt} has the hash that was noted`);
  line.terminal.print(`head ${found.head}`);
}

/** A line is in memory at a time. Throws OperatorError at the first line that is wrong. `headAt`: the number of that event. */
async function verifyFile(
  line: CommandLine,
  file: string,
  head: string | undefined,
): Promise<{ found: Verified; headAt: number | undefined }> {
  const verifier = createVerifier();
  let count = 0;
  let headAt: number | undefined;
  try {
    for await (const text of createInterface({ input: openGiven(line, file), crlfDelay: Infinity })) {
      const problem = verifier.take(text);
      count++;
      if (problem !== undefined) throw new OperatorError(`${nameOf(file)}, line ${count} ${problem}`);
      const { last, head: hash } = verifier.result()!;
      if (hash === head) headAt = last;
    }
  } catch (error) {
    throw error instanceof OperatorError
      ? error
      : new OperatorError(`${nameOf(file)} can't be read (${messageOf(error)})`);
  }
  const found = verifier.result();
  if (!found) throw new OperatorError(`${nameOf(file)} has no events`);
  return { found, headAt };
}
