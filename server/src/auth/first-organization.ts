/** The organization that setup made: the operator's own, which alone sees figures of the whole installation. */
import type { OrganizationId } from "../lib/ids.ts";
import type { Database, Query } from "../storage/database.ts";

export type FirstOrganization = { has(organizationId: OrganizationId): Promise<boolean> };

/** Asks the database once: there is no way to make an earlier one, nor to remove it. */
export function createFirstOrganization(database: Database): FirstOrganization {
  let first: OrganizationId | undefined;
  return {
    has: async (organizationId) => {
      first ??= await firstOrganization(database.query);
      return first === organizationId;
    },
  };
}

/** Undefined before the setup. Ids are UUIDv7s, so the first one made is the least. */
export async function firstOrganization(query: Query): Promise<OrganizationId | undefined> {
  const [row] = await query("select id from organizations order by id limit 1");
  return row?.["id"];
}
