import type { Organization } from "../../auth/organization.ts";
import { findOrganizations, listOrganizations, readOrganization } from "../../auth/accounts/organizations.ts";
import { OperatorError } from "../../lib/errors.ts";
import { decodeId, encodeId } from "../../lib/ids.ts";
import type { Database } from "../../storage/database.ts";

/** By id or exact name; the only one if nothing is given. Throws OperatorError that lists the ids if several fit. */
export async function findOrganization(on: { database: Database }, text?: string): Promise<Organization> {
  if (text === undefined)
    return only(await listOrganizations(on, MAX_LISTED), "there are several organizations", "--org with ");
  const id = decodeId("organization", text);
  const found = id === undefined ? await findOrganizations(on, text) : [await readOrganization(on, id)];
  return only(
    found.filter((one) => one !== undefined),
    `several organizations are named ${JSON.stringify(text)}`,
    "",
    text,
  );
}

const MAX_LISTED = 100;

function only([first, ...others]: Organization[], several: string, option: string, text?: string): Organization {
  if (!first)
    throw new OperatorError(
      text === undefined
        ? "there are no organizations: `autograph setup` makes the first"
        : `there is no organization ${JSON.stringify(text)}: give its exact name or its id (org_…)`,
    );
  if (others.length === 0) return first;
  const ids = [first, ...others].map((one) => encodeId("organization", one.id));
  throw new OperatorError(`${several}: give ${option}the id, one of ${ids.join(", ")}`);
}
