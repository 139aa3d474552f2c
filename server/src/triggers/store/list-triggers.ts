/** Triggers as lists, and one by one. */
import type { TriggerId } from "../../lib/ids.ts";
import { checkPage, pageOf, type Page, type PageRequest } from "../../lib/page.ts";
import type { Within } from "../../lib/reach.ts";
import { pageOfTriggerRows, readTriggerRows, type TriggerFilter } from "./trigger-store.ts";
import type { Trigger } from "./trigger.ts";
import type { Database } from "../../storage/database.ts";

type Reading = { database: Database };

/** Newest first. `after` is a trigger's id. */
export async function listTriggers(
  { database }: Reading,
  within: Within,
  filter: TriggerFilter,
  request: PageRequest,
): Promise<Page<Trigger>> {
  const page = checkPage(request);
  return pageOf(await pageOfTriggerRows(database, within, page, filter), page.first);
}

export async function readTrigger({ database }: Reading, within: Within, id: TriggerId): Promise<Trigger | undefined> {
  return (await readTriggerRows(database, within, [id])).get(id);
}
