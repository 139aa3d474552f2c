/**
 * Who listens to events of the service itself, all organizations together in memory: the statement that ends a run asks here
 * whether it writes that down, so the answer must cost nothing. In doubt it is yes: what nobody listens to is dropped later.
 */
import type { Clock } from "../../lib/clock.ts";
import type { OrganizationId } from "../../lib/ids.ts";
import type { Log } from "../../lib/log/log.ts";
import { Loop, type Round } from "../../lib/loops/loop.ts";
import type { Database, Query } from "../../storage/database.ts";
import { OWN_EVENTS, OWN_SOURCE, type OwnEvent } from "../../events/own-source.ts";

/** A trigger that another process made is heard after this, if its notice is lost. */
const READ_EVERY_MS = 5_000;

type ByEvent = ReadonlyMap<string, ReadonlySet<OrganizationId>>;

export class Listeners {
  readonly #database: Database;
  readonly #log: Log;
  /** Undefined: not known, after a failure too. */
  #known: ByEvent | undefined;
  /** How often they were forgotten: what was read meanwhile is not known. */
  #forgotten = 0;
  /** Their triggers have changed since the last reading began, and before that since the one that is under way did. */
  #changed = new Set<OrganizationId>();
  #reading = new Set<OrganizationId>();

  constructor({ database, log }: { database: Database; log: Log }) {
    this.#database = database;
    this.#log = log;
  }

  readonly has = (organizationId: OrganizationId, event: string): boolean =>
    !this.#known ||
    this.#known.get(event)?.has(organizationId) ||
    this.#changed.has(organizationId) ||
    this.#reading.has(organizationId);

  /** After a change of any of its triggers. */
  changed(organizationId: OrganizationId): void {
    this.#changed.add(organizationId);
  }

  /** Changes may have been missed. */
  forget(): void {
    this.#known = undefined;
    this.#forgotten++;
  }

  /** Reads them now and every 5 s. */
  watch(clock: Clock): Loop {
    return new Loop({
      clock,
      log: this.#log,
      name: "listeners",
      everyMs: READ_EVERY_MS,
      look: (round) => this.#read(round),
      failed: "the listeners to events of the service itself could not be read",
    }).start();
  }

  async #read(round: Round): Promise<void> {
    for (const organizationId of this.#changed) this.#reading.add(organizationId);
    this.#changed = new Set();
    const forgotten = this.#forgotten;
    let known: ByEvent | undefined;
    try {
      known = await readListeners(this.#database);
    } finally {
      if (round.goesOn()) {
        this.#known = forgotten === this.#forgotten ? known : undefined;
        this.#reading = new Set();
      }
    }
  }
}

/** Within a transaction: whether anybody listens to this event of the service itself. */
export async function hasListener(query: Query, organizationId: OrganizationId, event: OwnEvent): Promise<boolean> {
  const rows = await query(
    `select 1 from triggers where organization_id = $1 and type = 'event' and deleted_at is null and status = 'active'
        and configuration ->> 'source' = '${OWN_SOURCE}' and configuration ->> 'event' = $2
     union all select 1 from listened where organization_id = $1 and event = $2 limit 1`,
    [organizationId, event],
  );
  return rows.length > 0;
}

/** An organization may listen to 100,000 kinds of event, so each is looked up by its key. */
async function readListeners(database: Database): Promise<ByEvent> {
  const rows = await database.query(
    `with recursive listening as (
       (select organization_id from listened order by organization_id limit 1)
       union all
       select (select organization_id from listened where organization_id > o.organization_id
               order by organization_id limit 1)
         from listening o where o.organization_id is not null)
     select event, string_agg(distinct organization_id::text, ',') as organizations
       from (
         select configuration ->> 'event' as event, organization_id from triggers
          where type = 'event' and deleted_at is null and configuration ->> 'source' = '${OWN_SOURCE}' and status = 'active'
         union all select event, o.organization_id from listening o cross join unnest($1::text[]) as event
          where exists (select from listened l where l.organization_id = o.organization_id and l.event = event)) as heard group by 1`,
    [OWN_EVENTS],
  );
  return new Map(rows.map((row) => [row["event"], new Set(row["organizations"].split(","))]));
}
