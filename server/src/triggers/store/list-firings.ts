/** Firings as lists, and one by one. */
import type { FiringId } from "../../lib/ids.ts";
import { checkPage, pageOf, type Page, type PageRequest } from "../../lib/page.ts";
import type { Within } from "../../lib/reach.ts";
import type { FiringOutcome } from "../../storage/schema.ts";
import { pageOfFiringRows, readFiringRows } from "./firing-store.ts";
import type { Firing, Trigger } from "./trigger.ts";
import type { Triggers } from "../triggers.ts";

type Reading = Pick<Triggers, "database">;

/** Newest first, of a trigger that the caller reaches. `after` is a firing's id. */
export async function listFirings(
  { database }: Reading,
  { organizationId, id }: Trigger,
  request: PageRequest,
  outcome?: readonly FiringOutcome[],
): Promise<Page<Firing>> {
  const page = checkPage(request);
  return pageOf(await pageOfFiringRows(database, organizationId, id, page, outcome), page.first);
}

export async function readFiring({ database }: Reading, within: Within, id: FiringId): Promise<Firing | undefined> {
  return (await readFiringRows(database, within, [id])).get(id);
}
