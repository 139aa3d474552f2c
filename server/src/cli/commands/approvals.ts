import { Option, type Command } from "commander";
import type { FormField } from "../../definition/form/form.ts";
import type { Json } from "../../lib/json/json.ts";
import type { ApprovalStatus } from "../../storage/schema.ts";
import { addApiOptions, openApi, type Api, type ApiOptions } from "../server/api.ts";
import { addCommand, idArgument, type CommandLine } from "../line/command-line.ts";
import { findAgentId } from "../server/find-agent.ts";
import { FORM_FIELD, titleOf } from "../line/form-field.ts";
import { addFirst, minuteOf, MORE, printPage, type Page, type Table } from "../line/page.ts";
import { readInput, type FieldType } from "../line/run-input.ts";
import { plainText, prettyJson, tableOf } from "../line/terminal.ts";

type Options = ApiOptions & { json?: true };
type ListOptions = Options & { mine?: true; first: number; agent?: string; run?: string; status: ApprovalStatus[] };
type ReassignOptions = Options & { comment?: string };
type DecideOptions = Options & { comment?: string; answer?: string };

type Decision = { by: { name: string }; decision: string; comment: string | null; at: string; isOverride: boolean };
type Reassignment = {
  by: { kind: string; name: string };
  to: string[];
  comment: string | null;
  at: string;
  isOverride: boolean;
};
type Approval = { id: string; status: ApprovalStatus; question: string; createdAt: string };
type WholeApproval = Approval & {
  context: Json;
  assignee: string | null;
  assignees: string[];
  quorum: number;
  decisions: Decision[];
  reassignments: Reassignment[];
  dueAt: string | null;
  escalatedAt: string | null;
  remindedAt: string | null;
  expiresAt: string | null;
  decidedAt: string | null;
  decidedBy: { name: string } | null;
  comment: string | null;
  answer: Json;
  answerFields: FormField[];
  run: { id: string };
  agent: { handle: string };
};

const STATUSES = ["open", "approved", "rejected", "expired", "withdrawn"] satisfies ApprovalStatus[];
const FIELDS = "id status question stepNumber createdAt expiresAt run { id } agent { handle }";

const LIST = `query ($filter: ApprovalFilter, $first: Int!) {
  approvals(filter: $filter, first: $first) { nodes { ${FIELDS} } ${MORE} }
}`;
const SHOW = `query ($id: ID!) {
  approval(id: $id) {
    ${FIELDS} context assignee assignees quorum dueAt remindedAt escalatedAt canDecide decidedAt decidedBy { kind id name } comment answer
    decisions { by { kind id name } decision comment at isOverride }
    reassignments { by { kind id name } at from to comment isOverride } answerFields { ${FORM_FIELD} }
  }
}`;
const ANSWER_FIELDS = "query ($id: ID!) { approval(id: $id) { answerFields { name type } } }";
const DECIDE = `mutation ($input: DecideApprovalInput!) {
  decideApproval(input: $input) { id status question comment decidedAt quorum decisions { decision } }
}`;
const REASSIGN = `mutation ($input: ReassignApprovalInput!) {
  reassignApproval(input: $input) { id status question assignees quorum }
}`;

export function addApprovals(program: Command, line: CommandLine): void {
  const approvals = program.command("approvals").description("What runs ask people, through the server's API.");
  const id = idArgument("approval", "approvals list");
  addApiOptions(addFirst(addCommand(approvals, "list", "Open approvals, newest first.")))
    .option("--agent <agent>", "only those of this agent: its handle, project/handle or id")
    .option("--run <id>", "only those of this run")
    .option("--mine", "only those that name you, by e-mail or by role")
    .addOption(new Option("--status <status...>", "in one of these states").choices(STATUSES).default(["open"]))
    .action((options: ListOptions) => list(line, options));
  addApiOptions(addCommand(approvals, "show", "A question with its context and form.").addArgument(id)).action(
    (approvalId: string, options: Options) => show(line, approvalId, options),
  );
  addApiOptions(addCommand(approvals, "approve", "Approve: the run goes on, with the answer.").addArgument(id))
    .argument("[key=value...]", "the answer, read as the approval's form requires")
    .option("--answer <json>", "the answer, a JSON object")
    .option("--comment <text>", "why")
    .action((approvalId: string, pairs: string[], options: DecideOptions) =>
      decide(line, approvalId, "approve", pairs, options),
    );
  addApiOptions(
    addCommand(approvals, "reject", "Reject: the step fails, or goes on as its definition says.").addArgument(id),
  )
    .option("--comment <text>", "why")
    .action((approvalId: string, options: DecideOptions) => decide(line, approvalId, "reject", [], options));
  addApiOptions(addCommand(approvals, "reassign", "Pass an open one on: others decide.").addArgument(id))
    .argument("<assignee...>", "who decides from now on: e-mails of members, and roles such as role:editor")
    .option("--comment <text>", "why")
    .action((approvalId: string, assignees: string[], options: ReassignOptions) =>
      reassign(line, approvalId, assignees, options),
    );
}

const TABLE: Table<Approval> = {
  head: ["id", "asked", "question"],
  row: ({ id, createdAt, question }) => [id, minuteOf(createdAt), plainText(question)],
  none: "there are no such approvals",
};
const TABLE_OF_ALL: Table<Approval> = {
  ...TABLE,
  head: ["id", "status", "asked", "question"],
  row: (one) => [one.id, one.status, minuteOf(one.createdAt), plainText(one.question)],
};

async function list(line: CommandLine, options: ListOptions): Promise<void> {
  const api = openApi(line, options);
  const { agent, run, status, first, mine } = options;
  const filter = {
    status,
    ...(agent !== undefined && { agentId: await findAgentId(api, agent) }),
    ...(run !== undefined && { runId: run }),
    ...(mine && { assignedToMe: true }),
  };
  const { approvals } = await api.send<{ approvals: Page<Approval> }>(LIST, { filter, first });
  printPage(line, approvals, status.join() === "open" ? TABLE : TABLE_OF_ALL, options);
}

async function show(line: CommandLine, id: string, options: Options): Promise<void> {
  const { approval } = await openApi(line, options).send<{ approval: WholeApproval }>(SHOW, { id });
  const { terminal } = line;
  if (options.json) return terminal.printJson(approval);
  terminal.print(terminal.bold(plainText(approval.question)));
  const facts: [string, string | null][] = [
    ["id", approval.id],
    ["status", approval.status],
    ["run", `${approval.run.id} of ${approval.agent.handle}`],
    ["asked", minuteOf(approval.createdAt)],
    ["expires", approval.expiresAt && minuteOf(approval.expiresAt)],
    ["assignee", approval.assignees.length > 0 ? approval.assignees.join(", ") : approval.assignee],
    ["needs", approval.quorum > 1 ? `${approval.quorum} who approve` : null],
    ["due", approval.dueAt && minuteOf(approval.dueAt)],
    ["reminded", approval.remindedAt && minuteOf(approval.remindedAt)],
    ["escalated", approval.escalatedAt && minuteOf(approval.escalatedAt)],
    ["decided", approval.decidedAt && minuteOf(approval.decidedAt)],
    ["by", approval.decidedBy && approval.decidedBy.name],
    ["comment", approval.comment],
  ];
  const known = facts.filter((fact): fact is [string, string] => fact[1] !== null);
  for (const row of tableOf(known.map(([name, value]) => [name, plainText(value)]))) terminal.print(row);
  for (const one of approval.reassignments) terminal.print(reassignmentOf(one));
  for (const decision of approval.decisions) terminal.print(sentenceOf(decision));
  for (const field of approval.answerFields) {
    terminal.print(
      `${field.required ? "needs" : "takes"} ${plainText(field.name)}=… (${field.type}): ${titleOf(field)}`,
    );
  }
  if (approval.context !== null) terminal.print(prettyJson(approval.context));
  if (approval.answer !== null) terminal.print(`answer ${prettyJson(approval.answer)}`);
}

function sentenceOf({ by, decision, comment, at, isOverride }: Decision): string {
  const place = isOverride ? ", in place of others" : "";
  const why = comment === null ? "" : `: ${plainText(comment)}`;
  return `${minuteOf(at)} ${plainText(by.name)} ${decision === "approve" ? "approved" : "rejected"}${place}${why}`;
}

function reassignmentOf({ by, to, comment, at, isOverride }: Reassignment): string {
  const place = isOverride ? ", in place of others" : "";
  const why = comment === null ? "" : `: ${plainText(comment)}`;
  const did = by.kind === "system" ? "escalated" : "reassigned";
  return `${minuteOf(at)} ${plainText(by.name)} ${did} it to ${plainText(to.join(", "))}${place}${why}`;
}

async function reassign(
  line: CommandLine,
  approvalId: string,
  assignees: string[],
  options: ReassignOptions,
): Promise<void> {
  const { comment, json } = options;
  const input = { approvalId, assignees, ...(comment !== undefined && { comment }) };
  type Reassigned = Approval & { assignees: string[] };
  const { reassignApproval: now } = await openApi(line, options).send<{ reassignApproval: Reassigned }>(REASSIGN, {
    input,
  });
  if (json) return line.terminal.printJson(now);
  line.terminal.print(`${now.id} is for ${plainText(now.assignees.join(", "))} (${plainText(now.question)})`);
}

async function decide(
  line: CommandLine,
  approvalId: string,
  decision: "approve" | "reject",
  pairs: string[],
  options: DecideOptions,
): Promise<void> {
  const api = openApi(line, options);
  const { comment, answer: text } = options;
  const answers = pairs.length > 0 || text !== undefined;
  const input = {
    approvalId,
    decision,
    ...(comment !== undefined && { comment }),
    ...(answers && {
      answer: await readInput(line, { text, pairs, option: "--answer" }, await fieldsOf(api, approvalId, pairs)),
    }),
  };
  type Decided = Approval & { quorum: number; decisions: Pick<Decision, "decision">[] };
  const { decideApproval: decided } = await api.send<{ decideApproval: Decided }>(DECIDE, { input });
  if (options.json) return line.terminal.printJson(decided);
  const given = decided.decisions.filter((one) => one.decision === "approve").length;
  const stand = decided.status === "open" ? `open: ${given} of ${decided.quorum} have approved` : decided.status;
  line.terminal.print(`${decided.id} is ${stand} (${plainText(decided.question)})`);
}

/** Asked for only where pairs must be read: a key that may only decide can't see the form. */
async function fieldsOf(api: Api, id: string, pairs: readonly string[]): Promise<FieldType[]> {
  if (pairs.length === 0) return [];
  type Data = { approval: { answerFields: FieldType[] } };
  return (await api.send<Data>(ANSWER_FIELDS, { id })).approval.answerFields;
}
