import { Option, type Command } from "commander";
import { createOrganization } from "../../auth/accounts/create-organization.ts";
import { PLANS, type Organization } from "../../auth/organization.ts";
import { listOrganizations, setPlan } from "../../auth/accounts/organizations.ts";
import { encodeId } from "../../lib/ids.ts";
import { limitOf, modelTokensOf } from "../../rates/plans.ts";
import type { Plan } from "../../storage/schema.ts";
import { openAccounts } from "../server/accounts.ts";
import { addCommand, type CommandLine } from "../line/command-line.ts";
import { findOrganization } from "../server/find-organization.ts";
import { addFirst, minuteOf, printPage, type Table } from "../line/page.ts";
import { plainText } from "../line/terminal.ts";

export function addOrganizations(program: Command, line: CommandLine): void {
  const org = program
    .command("org")
    .alias("orgs")
    .description("Organizations, for anyone who may read the data folder.");
  addFirst(addCommand(org, "list", "Organizations, newest first, with their ids and plans.")).action(
    (options: { json?: true; first: number }) => list(line, options),
  );
  addCommand(org, "create <name>", "Make an organization; an owner who has no account yet gets one.")
    .requiredOption("--owner <email>", "the owner's e-mail")
    .option("--owner-name <name>", "a new owner's name (the part of the e-mail before the @)")
    .option("--password <password>", "a new owner's password (one is made and printed)")
    .addOption(new Option("--plan <plan>", "its plan (DEFAULT_PLAN)").choices(PLANS))
    .action((name: string, options: CreateOptions) => create(line, name, options));
  addCommand(org, "set-plan <organization> <plan>", "Give an organization, by id or name, another plan.")
    .option("--per-minute <requests>", "as agreed, with the enterprise plan only; 0 or left out: without limit", Number)
    .option("--model-tokens <tokens>", "tokens of language models a day, likewise", Number)
    .action((organization: string, plan: Plan, options: PlanOptions) => changePlan(line, organization, plan, options));
}

type CreateOptions = { json?: true; owner: string; ownerName?: string; password?: string; plan?: Plan };
type PlanOptions = { json?: true; perMinute?: number; modelTokens?: number };

const TABLE: Table<Organization> = {
  head: ["id", "plan", "created", "name"],
  row: ({ id, plan, requestsPerMinute, modelTokensPerDay, createdAt, name }) => [
    encodeId("organization", id),
    `${plan}${requestsPerMinute === null ? "" : ` ${requestsPerMinute}/min`}${modelTokensPerDay === null ? "" : ` ${modelTokensPerDay} tokens/day`}`,
    minuteOf(createdAt.toISOString()),
    plainText(name),
  ],
  none: "there are no organizations: `autograph setup` makes the first",
  json: (one) => ({ ...shown(one), createdAt: one.createdAt }),
};

async function list(line: CommandLine, options: { json?: true; first: number }): Promise<void> {
  await using accounts = await openAccounts(line, line.config());
  const found = await listOrganizations(accounts.auth, options.first + 1);
  const nodes = found.slice(0, options.first);
  const hasNextPage = found.length > nodes.length;
  printPage(line, { nodes, pageInfo: { hasNextPage } }, TABLE, options);
}

async function create(line: CommandLine, name: string, options: CreateOptions): Promise<void> {
  const { owner: email, ownerName, password: chosen, plan } = options;
  await using accounts = await openAccounts(line, line.config());
  const made = await createOrganization(accounts.auth, {
    name,
    plan,
    owner: { email, name: ownerName, password: chosen },
  });
  const { organization, owner, password } = made;
  const facts = { ...shown(organization), ownerId: encodeId("user", owner.id), owner: owner.email };
  // A holder of an invitation to any organization may have made an account with this e-mail.
  if (owner.createdAt < organization.createdAt)
    line.terminal.say(
      `${owner.email} has an account since ${minuteOf(owner.createdAt.toISOString())}, and keeps its password: be sure that it is theirs`,
    );
  if (options.json) return line.terminal.printJson({ ...facts, ...(password !== undefined && { password }) });
  line.terminal.print(`organization  ${organization.name} (${facts.organizationId}), plan ${organization.plan}`);
  line.terminal.print(`owner         ${owner.email}`);
  if (password !== undefined) line.terminal.print(`password      ${password}`);
}

async function changePlan(line: CommandLine, name: string, plan: Plan, options: PlanOptions): Promise<void> {
  // Another plan refuses it, whatever it is.
  const agreed = (value: number | undefined): number | undefined =>
    value === 0 && plan === "enterprise" ? undefined : value;
  await using accounts = await openAccounts(line, line.config());
  const organization = await setPlan(accounts.auth, (await findOrganization(accounts.auth, name)).id, {
    plan,
    requestsPerMinute: agreed(options.perMinute),
    modelTokensPerDay: agreed(options.modelTokens),
  });
  if (options.json) return line.terminal.printJson(shown(organization));
  const limit = limitOf(organization.plan, organization.requestsPerMinute);
  const rate = limit === null ? "without limit" : `${limit} requests a minute`;
  const most = modelTokensOf(organization.plan, organization.modelTokensPerDay);
  const tokens = most === null ? "" : `, ${most} tokens of models a day`;
  line.terminal.print(
    `${organization.name} (${encodeId("organization", organization.id)}): plan ${organization.plan}, ${rate}${tokens}; in force within 5 s`,
  );
}

const shown = ({ id, name, plan, requestsPerMinute, modelTokensPerDay }: Organization) => ({
  organizationId: encodeId("organization", id),
  name,
  plan,
  requestsPerMinute,
  modelTokensPerDay,
});
