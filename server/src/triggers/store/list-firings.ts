/** Firings as lists, and one by one. */
import type { EventId, FiringId } from "../../lib/ids.ts";
import { checkPage, pageOf, type Page, type PageRequest } from "../../lib/page.ts";
import type { Within } from "../../lib/reach.ts";
import type { FiringOutcome } from "../../storage/schema.ts";
import { pageOfEventFirings, pageOfFiringRows, readFiringRows } from "./firing-store.ts";
import type { Firing, Trigger } from "./trigger.ts";
import type { Database } from "../../storage/database.ts";

type Reading = { database: Database };

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

/** The firings of an event, newest first. `after` is a firing's id. */
export async function listEventFirings(
  { database }: Reading,
  within: Within,
  { id }: { id: EventId },
  request: PageRequest,
): Promise<Page<Firing>> {
  const page = checkPage(request);
  return pageOf(await pageOfEventFirings(database, within, id, page), page.first);
}
