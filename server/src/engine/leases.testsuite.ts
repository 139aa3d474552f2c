/**
 * A second engine, to test the contract itself: every process may advance runs as long as it renews a lease. Any process may
 * take a run from one without a lease. Kept small: it looks for due runs every half second.
 */
import { every } from "../lib/clock.ts";
import type { OrganizationId, RunId } from "../lib/ids.ts";
import { partitionOf } from "../storage/partitions.ts";
import { Drives } from "./drives.ts";
import { dueFromRow, type Due } from "./due-runs.ts";
import type { Advance, Begun, Engine, Wake } from "./engine.ts";
import type { SqlEngineOptions } from "./sql-engine.ts";

const LOOK_MS = 500;
const LEASE_MS = 4_000;
/** A lease ends this long after its last renewal; a process lets go before others may take over. */
const HELD_MS = 3_000;

/** Who has a lease at `$1`. */
const ALIVE = "select instance_id from leases where renewed_at > $1::float8 - " + LEASE_MS;

export class LeaseEngine<Claimed> implements Engine<Claimed> {
  readonly loops = [];
  readonly #options: SqlEngineOptions<Claimed>;
  readonly #drives: Drives<Claimed>;
  #advance: Advance<Claimed> | undefined;
  #renewedAt = -Infinity;
  #looking = Promise.resolve();
  #timer: Disposable | undefined;
  #isClosing = false;

  constructor(options: SqlEngineOptions<Claimed>) {
    this.#options = options;
    this.#drives = new Drives({
      ...options,
      advance: (call) => this.#advance!(call),
      claim: (run) => this.#claim(run),
      mayAdvance: () => this.executing,
      // The next look finds it.
      waitsUntil: () => {},
      leftInTable: (organizationId) => options.places.wait(organizationId),
    });
  }

  get executing(): boolean {
    return !this.#isClosing && this.#options.clock.now() - this.#renewedAt < HELD_MS;
  }

  async start(advance: Advance<Claimed>): Promise<void> {
    const { clock, database } = this.#options;
    this.#advance = advance;
    await database.query(
      "create table if not exists leases (instance_id uuid primary key, renewed_at float8 not null)",
    );
    await this.#look();
    this.#timer = every(clock, LOOK_MS, () => {
      this.#looking = this.#looking.then(() => this.#look());
    });
  }

  wake(id: RunId, { organizationId, at }: Wake): void {
    if (!at || at.getTime() <= this.#options.clock.now()) this.#begin({ id, organizationId });
  }

  begin({ id, organizationId }: Due): Begun | undefined {
    const { instanceId, places } = this.#options;
    if (!this.executing || !places.tryTake(organizationId)) return undefined;
    return this.#drives.beginUnwritten({ id, organizationId }, instanceId);
  }

  interrupt(id: RunId): void {
    this.#drives.interrupt(id);
  }

  interruptAll(): void {
    this.#drives.interruptAll("the process ends");
  }

  #begin(run: Due): void {
    if (!this.executing || this.#drives.wake(run.id)) return;
    if (this.#options.places.tryTake(run.organizationId)) this.#drives.begin(run);
    else this.#options.places.wait(run.organizationId);
  }

  /** Renews the lease, then begins runs that are due and runs whose holder is dead. */
  async #look(): Promise<void> {
    if (this.#isClosing) return;
    const { clock, database, instanceId, places, log } = this.#options;
    const now = clock.now();
    try {
      await database.query(
        `insert into leases values ($1, $2)
         on conflict (instance_id) do update set renewed_at = excluded.renewed_at`,
        [instanceId, now],
      );
      this.#renewedAt = now;
      const rows = await database.query(
        `select id, organization_id from runs
          where (owner is null and wake_at <= to_timestamp($1::float8 / 1000.0))
             or (owner is not null and (owner = $2 or owner not in (${ALIVE})))
          order by wake_at, id limit 1000`,
        [now, instanceId],
      );
      const due = rows.map(dueFromRow);
      for (const organizationId of new Set<OrganizationId>(due.map((run) => run.organizationId)))
        places.leave(organizationId);
      for (const run of due) this.#begin(run);
    } catch (error) {
      log.warn({ reason: String(error) }, "looking for due runs failed; trying again");
    }
    if (!this.executing) this.#drives.interruptAll("the lease has ended");
  }

  async #claim({ id }: Due): Promise<Claimed | undefined> {
    const { clock, database, instanceId, claimed } = this.#options;
    const [row] = await database.query(
      `update runs_${partitionOf(database, id)} set epoch = epoch + 1, owner = $2, wake_at = null, status = 'running',
          revision = revision + (status <> 'running')::int,
          started_at = coalesce(started_at, to_timestamp($1::float8 / 1000.0))
        where id = $3 and status in ('pending', 'running', 'paused') and $2 in (${ALIVE})
          and (owner = $2 or owner not in (${ALIVE})
            or (owner is null and wake_at <= to_timestamp($1::float8 / 1000.0)))
        returning ${claimed.columns.join(", ")}`,
      [clock.now(), instanceId, id],
    );
    return row && claimed.of(row);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { database, instanceId } = this.#options;
    this.#isClosing = true;
    this.#timer?.[Symbol.dispose]();
    await this.#looking;
    await this.#drives.close();
    await database.query("delete from leases where instance_id = $1", [instanceId]).catch(() => {});
  }
}
