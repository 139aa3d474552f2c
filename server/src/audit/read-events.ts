/** Events, read: newest first in pages, and oldest first for the export. */
import type { AuditEventId, OrganizationId } from "../lib/ids.ts";
import { checkPage, pageOf, type Page, type PageRequest } from "../lib/page.ts";
import type { Database, Row } from "../storage/database.ts";
import type { AuditAction, ChainedEvent } from "./event.ts";
import type { Actor } from "../lib/actor.ts";

/** A missing field does not filter; an empty list matches nothing. `createdFrom` is included, `createdBefore` is not. */
export type AuditFilter = {
  action?: readonly AuditAction[] | undefined;
  /** UUIDs of users and keys. */
  actorId?: readonly string[] | undefined;
  createdFrom?: Date | undefined;
  createdBefore?: Date | undefined;
};

/** With the actor as other rooms know it. */
export type AuditEvent = ChainedEvent & { actor: Actor };

const COLUMNS = `number, event, actor_id, encode(previous, 'hex') as previous, encode(hash, 'hex') as hash`;

const chainedOf = (row: Row): ChainedEvent => ({
  event: row["event"],
  number: row["number"],
  previous: row["previous"],
  hash: row["hash"],
});

const eventOf = (row: Row): AuditEvent => {
  const chained = chainedOf(row);
  return { ...chained, actor: { kind: chained.event.actor.kind, id: row["actor_id"] } };
};

/** Newest first. `after` is an event's number. */
export async function listAuditEvents(
  database: Database,
  organizationId: OrganizationId,
  filter: AuditFilter,
  request: PageRequest,
): Promise<Page<AuditEvent>> {
  const { first, after } = checkPage(request);
  const { action, actorId, createdFrom, createdBefore } = filter;
  const rows = await database.query(
    `select ${COLUMNS} from audit_events
      where organization_id = $1 and ($2::bigint is null or number < $2)
        and ($3::text[] is null or action = any($3)) and ($4::uuid[] is null or actor_id = any($4))
        and ($5::timestamptz is null or at >= $5) and ($6::timestamptz is null or at < $6)
      order by number desc limit $7`,
    [
      organizationId,
      after ?? null,
      action ?? null,
      actorId ?? null,
      createdFrom ?? null,
      createdBefore ?? null,
      first + 1,
    ],
    organizationId,
  );
  return pageOf(rows.map(eventOf), first);
}

export async function readAuditEvent(
  database: Database,
  organizationId: OrganizationId,
  id: AuditEventId,
): Promise<AuditEvent | undefined> {
  const [row] = await database.query(
    `select ${COLUMNS} from audit_events where organization_id = $1 and id = $2`,
    [organizationId, id],
    organizationId,
  );
  return row && eventOf(row);
}

const EXPORTED_AT_ONCE = 500;

/**
 * Oldest first, without gaps: from the first event at or after `createdFrom` to the last one before `createdBefore`, as they are when it begins.
 * A page is in memory at a time.
 */
export async function* exportAuditEvents(
  database: Database,
  organizationId: OrganizationId,
  { createdFrom, createdBefore }: Pick<AuditFilter, "createdFrom" | "createdBefore">,
): AsyncGenerator<ChainedEvent> {
  const [range] = await database.query(
    `select (select min(number) from audit_events where organization_id = $1 and ($2::timestamptz is null or at >= $2)) as first,
            (select max(number) from audit_events where organization_id = $1 and ($3::timestamptz is null or at < $3)) as last`,
    [organizationId, createdFrom ?? null, createdBefore ?? null],
    organizationId,
  );
  if (range!["first"] === null || range!["last"] === null) return;
  for (let next: number = range!["first"]; next <= range!["last"]; next += EXPORTED_AT_ONCE) {
    const rows = await database.query(
      `select ${COLUMNS} from audit_events where organization_id = $1 and number between $2 and $3 order by number`,
      [organizationId, next, Math.min(next + EXPORTED_AT_ONCE - 1, range!["last"])],
      organizationId,
    );
    yield* rows.map(chainedOf);
  }
}
