/** Events as lists, and one by one. */
import { badInput, type FieldProblem } from "../lib/errors.ts";
import type { EventId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { checkPage, pageOf, type Page, type PageRequest } from "../lib/page.ts";
import type { Within } from "../lib/reach.ts";
import type { Events } from "./events.ts";
import type { Event } from "./event.ts";
import { checkName } from "./check-event.ts";
import { pageOfEventRows, readEventRows, type EventFilter } from "./read-events.ts";

type Reading = Pick<Events, "database">;

/**
 * Newest first. A narrowed key gets those that were published to no more than it reaches. `after` is an event's id. Throws
 * BAD_USER_INPUT.
 */
export async function listEvents(
  { database }: Reading,
  within: Within,
  filter: EventFilter,
  request: PageRequest,
): Promise<Page<Event>> {
  checkFilter(filter);
  const page = checkPage(request);
  return pageOf(await pageOfEventRows(database, within, filter, page), page.first);
}

/** Each pair of a source and a name is looked for by itself. */
function checkFilter({ source, event }: EventFilter): void {
  for (const [name, texts] of Object.entries({ source, event }))
    for (const text of texts ?? []) checkName(text, `filter.${name}`);
  if (event === undefined) return;
  const refuse = (name: string, code: FieldProblem["code"], message: string): Error =>
    badInput("invalid_input", `filter.${name} ${message}`, [{ path: `filter.${name}`, code, message }]);
  if (source === undefined)
    throw refuse("source", "required", "must be given with an event: events of that name may have any source");
  if (source.length * event.length > LIMITS.argumentItems)
    throw refuse("event", "too_many", `must have at most ${LIMITS.argumentItems} pairs with filter.source`);
}

export async function readEvent({ database }: Reading, within: Within, id: EventId): Promise<Event | undefined> {
  return (await readEventRows(database, within, [id])).get(id);
}
