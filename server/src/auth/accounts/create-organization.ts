import { randomBytes } from "node:crypto";
import { COMMAND_LINE, SYSTEM, type Who } from "../../audit/event.ts";
import { record } from "../../audit/record.ts";
import { conflict } from "../../lib/errors.ts";
import { encodeId, newId } from "../../lib/ids.ts";
import type { OrganizationId, UserId } from "../../lib/ids.ts";
import type { Query } from "../../storage/database.ts";
import { isDuplicate } from "../../storage/pg-errors.ts";
import type { Plan } from "../../storage/schema.ts";
import type { Auth } from "../handle/auth.ts";
import { emailProblem, nameProblem, passwordProblem, refuseProblems, tidyName } from "../names.ts";
import { organizationOf, type Organization, type User } from "../organization.ts";
import { findUser, nameOfEmail, userOf } from "./users.ts";

type NewOrganization = {
  name: string;
  /** `auth.defaultPlan` when absent. */
  plan?: Plan | undefined;
  /** If the e-mail belongs to a user already, that user becomes the owner and keeps name and password. */
  owner: { email: string; name?: string | undefined; password?: string | undefined };
};

type CreatedOrganization = {
  organization: Organization;
  owner: User;
  /** Generated for a new user without a password; shown once. */
  password?: string;
};

/** An organization and its owner, for the operator. Throws BAD_USER_INPUT, or CONFLICT when two make one user at once. */
export async function createOrganization(auth: Auth, request: NewOrganization): Promise<CreatedOrganization> {
  const { email, password } = request.owner;
  refuseProblems([
    nameProblem(request.name, "name"),
    emailProblem(email, "owner.email"),
    request.owner.name === undefined ? undefined : nameProblem(request.owner.name, "owner.name"),
    password === undefined ? undefined : passwordProblem(password, "owner.password"),
  ]);
  const owner = await findUser(auth, email);
  if (owner) return { organization: await insertForUser(auth, request, owner.id), owner };
  const chosen = password ?? makePassword();
  const made = await insertWithOwner(auth, {
    organization: request.name,
    plan: request.plan ?? auth.defaultPlan,
    name: request.owner.name ?? nameOfEmail(email),
    email,
    passwordHash: await auth.passwords.hash(chosen),
    onlyIfEmpty: false,
    by: BY_OPERATOR,
  }).catch((error: unknown) => {
    throw isDuplicate(error)
      ? conflict("email_taken", "a user with this e-mail was created at the same moment")
      : error;
  });
  return password === undefined ? { ...made!, password: chosen } : made!;
}

/** 120 random bits. */
export const makePassword = (): string => randomBytes(15).toString("base64url");

async function insertForUser(auth: Auth, request: NewOrganization, userId: UserId): Promise<Organization> {
  const now = auth.clock.now();
  return auth.database.transaction(async (query) => {
    const [row] = await query(
      `with o as (
       insert into organizations (id, name, plan, created_at) values ($1, $2, $3, $5) returning *),
     m as (
       insert into members (organization_id, user_id, role, created_at) select id, $4, 'owner', created_at from o)
     select o.* from o`,
      [newId(), tidyName(request.name), request.plan ?? auth.defaultPlan, userId, new Date(now)],
    );
    const organization = organizationOf(row!);
    await recordMade(query, BY_OPERATOR, { organization, ownerId: userId, now });
    return organization;
  });
}

const BY_OPERATOR = { actor: SYSTEM, from: COMMAND_LINE };

type Made = { organization: Organization; ownerId: UserId; now: number };

const recordMade = (
  query: Query,
  by: Omit<Who, "organizationId">,
  { organization, ownerId, now }: Made,
): Promise<void> =>
  record(query, { ...by, organizationId: organization.id }, now, {
    action: "organization_created",
    subject: { kind: "organization", id: organization.id, name: organization.name },
    detail: { plan: organization.plan, ownerId: encodeId("user", ownerId) },
  });

type FirstRows = {
  organization: string;
  plan: Plan;
  name: string;
  email: string;
  passwordHash: string;
  onlyIfEmpty: boolean;
  by: Omit<Who, "organizationId">;
};

/**
 * An organization with a new user as its owner, in one statement. With `onlyIfEmpty`, undefined when there is a user
 * already. Two at the same time meet in the one row of `settings`, and the later one gets a duplicate error.
 */
export async function insertWithOwner(
  auth: Auth,
  rows: FirstRows,
): Promise<{ organization: Organization; owner: User } | undefined> {
  const now = auth.clock.now();
  return auth.database.transaction(async (query) => {
    const [row] = await query(
      `with first as (
       insert into settings (name, value) select 'first_owner', json_build_object('userId', $2::uuid)
        where $8 and not exists (select from users) returning name),
     o as (
       insert into organizations (id, name, plan, created_at)
       select $1::uuid, $3::text, $4::text, $9::timestamptz where not $8 or exists (select from first) returning *),
     u as (
       insert into users (id, email, name, password_hash, last_organization_id, created_at)
       select $2::uuid, $5::text, $6::text, $7::text, o.id, o.created_at from o returning *),
     m as (
       insert into members (organization_id, user_id, role, created_at)
       select o.id, u.id, 'owner', o.created_at from o cross join u)
     select o.id, o.name, o.plan, o.requests_per_minute, o.model_tokens_per_day, o.created_at, u.id as user_id, u.name as user_name, u.email
       from o cross join u`,
      [
        newId<"organization">() satisfies OrganizationId,
        newId<"user">() satisfies UserId,
        tidyName(rows.organization),
        rows.plan,
        tidyName(rows.email),
        tidyName(rows.name),
        rows.passwordHash,
        rows.onlyIfEmpty,
        new Date(now),
      ],
    );
    if (!row) return undefined;
    const { user_id: id, user_name: name, email, created_at } = row;
    const owner = userOf({ id, name, email, created_at });
    const organization = organizationOf(row);
    await recordMade(query, rows.by, { organization, ownerId: owner.id, now });
    return { organization, owner };
  });
}
