/** Reading organizations, finding them by name, and setting their plans. */
import { COMMAND_LINE, SYSTEM } from "../../audit/event.ts";
import { record } from "../../audit/record.ts";
import { badInput, notFound } from "../../lib/errors.ts";
import type { OrganizationId } from "../../lib/ids.ts";
import type { Query } from "../../storage/database.ts";
import type { Plan } from "../../storage/schema.ts";
import type { Auth } from "../handle/auth.ts";
import { whoOf, type Acting } from "../caller.ts";
import { nameProblem, refuseProblems, tidyName } from "../names.ts";
import { COLUMNS, organizationOf, PLANS, type Organization } from "../organization.ts";

export async function readOrganization(
  auth: Pick<Auth, "database">,
  id: OrganizationId,
): Promise<Organization | undefined> {
  const [row] = await auth.database.query(`select ${COLUMNS} from organizations o where o.id = $1`, [id], id);
  return row && organizationOf(row);
}

/** All of them, the newest first, for the operator. */
export async function listOrganizations(auth: Pick<Auth, "database">, first: number): Promise<Organization[]> {
  const rows = await auth.database.query(
    `select ${COLUMNS} from organizations o order by o.created_at desc, o.id desc limit $1`,
    [first],
  );
  return rows.map(organizationOf);
}

/** By name, for the operator: names are not unique. */
export async function findOrganizations(auth: Pick<Auth, "database">, name: string): Promise<Organization[]> {
  const rows = await auth.database.query(
    `select ${COLUMNS} from organizations o where o.name = $1 order by o.created_at, o.id limit 100`,
    [name],
  );
  return rows.map(organizationOf);
}

/** Throws BAD_USER_INPUT. Names need not be unique. */
export async function renameOrganization(auth: Auth, caller: Acting, name: string): Promise<Organization> {
  refuseProblems([nameProblem(name, "input.name")]);
  const { organizationId } = caller;
  return auth.database.transaction(async (query) => {
    const before = await lockOrganization(query, organizationId);
    const [row] = await query(`update organizations o set name = $2 where o.id = $1 returning ${COLUMNS}`, [
      organizationId,
      tidyName(name),
    ]);
    const organization = organizationOf(row!);
    if (before!.name !== organization.name)
      await record(query, whoOf(caller), auth.clock.now(), {
        action: "organization_renamed",
        subject: { kind: "organization", id: organizationId, name: organization.name },
        detail: { from: before!.name },
      });
    return organization;
  }, organizationId);
}

/** As it is, unchanged by others until the transaction ends. */
async function lockOrganization(query: Query, id: OrganizationId): Promise<Organization | undefined> {
  const [row] = await query(`select ${COLUMNS} from organizations o where o.id = $1 for no key update`, [id]);
  return row && organizationOf(row);
}

/** By the operator. Agreements belong to the Enterprise plan only; without one, there is no limit. Throws BAD_USER_INPUT, NOT_FOUND. */
export async function setPlan(
  auth: Auth,
  id: OrganizationId,
  change: { plan: Plan } & Agreements,
): Promise<Organization> {
  const { plan, requestsPerMinute, modelTokensPerDay } = change;
  if (!PLANS.includes(plan)) throw badInput("invalid_input", `the plan must be one of ${PLANS.join(", ")}`);
  if (requestsPerMinute !== undefined) checkAgreed(plan, "requests per minute", requestsPerMinute, 2 ** 31 - 1);
  if (modelTokensPerDay !== undefined)
    checkAgreed(plan, "tokens of models a day", modelTokensPerDay, Number.MAX_SAFE_INTEGER);
  return auth.database.transaction(async (query) => {
    const before = await lockOrganization(query, id);
    if (!before) throw notFound("Organization");
    const [row] = await query(
      `update organizations o set plan = $2, requests_per_minute = $3, model_tokens_per_day = $4 where o.id = $1 returning ${COLUMNS}`,
      [id, plan, requestsPerMinute ?? null, modelTokensPerDay ?? null],
    );
    const who = { organizationId: id, actor: SYSTEM, from: COMMAND_LINE };
    await record(query, who, auth.clock.now(), {
      action: "plan_set",
      subject: { kind: "organization", id, name: before.name },
      detail: { plan, requestsPerMinute, modelTokensPerDay, from: before.plan },
    });
    return organizationOf(row!);
  });
}

type Agreements = { requestsPerMinute?: number | undefined; modelTokensPerDay?: number | undefined };

function checkAgreed(plan: Plan, what: string, value: number, most: number): void {
  if (plan !== "enterprise") throw badInput("invalid_input", `${what} are set with the enterprise plan only`);
  if (!Number.isInteger(value) || value < 1 || value > most)
    throw badInput("invalid_input", `${what} must be a whole number of at least 1`);
}
