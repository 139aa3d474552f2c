/**
 * One executor per database: a dedicated connection holds an advisory lock and writes a heartbeat row every second. A
 * standby that sees no heartbeat for 4 s ends the holder's database session and takes the lock, so a stopped process
 * can't keep it. It compares the row with what it saw before, never with its own clock.
 */
import type { Client } from "pg";
import type { Clock } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import type { InstanceId, RunId } from "../lib/ids.ts";
import type { Log } from "../lib/log/log.ts";
import { Loop, Round } from "../lib/loops/loop.ts";
import type { Database } from "../storage/database.ts";
import { MARK_SUSPECT } from "./suspect.ts";

const LOCK = "hashtextextended('autograph executor', 0)";
const HEARTBEAT_MS = 1_000;
/** Looks at the row, a heartbeat apart. Counted, not timed: setting a clock forward must not end a living process. */
const DEAD_AFTER_LOOKS = 4;
/** After this long without an answer to a heartbeat, another process may execute. */
const SILENT_MS = 10_000;
/** How long to wait for the holder's database session to end. */
const ENDING_MS = 1_000;
const GIVEN_UP = "the connection was given up";
const FAILED = "the executor's database connection failed";

/** How the executor before this one ended. */
export type Predecessor = {
  instanceId: InstanceId | undefined;
  /**
   * Unclean stops in a row, including that of the previous executor; 0 after a clean stop. A lost connection does not
   * count, nor does a stop that a suspect is blamed for.
   */
  uncleanStops: number;
};

type ElectionOptions = {
  database: Database;
  clock: Clock;
  log: Log;
  instanceId: InstanceId;
  elected: (predecessor: Predecessor) => void;
  /** The lock is gone: another process may execute from now on. */
  lost: () => void;
};

export class Election implements AsyncDisposable {
  readonly loop: Loop;
  readonly #options: ElectionOptions;
  #client: Client | undefined;
  #holds = false;
  #closing = false;
  #seen: { heartbeat: number; looks: number } | undefined;

  constructor(options: ElectionOptions) {
    this.#options = options;
    this.loop = new Loop({
      ...options,
      name: "executor",
      everyMs: HEARTBEAT_MS,
      look: (round) => this.#beat(round),
      failed: FAILED,
    });
  }

  get holds(): boolean {
    return this.#holds;
  }

  /** Tries for the lock once, then keeps trying by itself. */
  async start(): Promise<void> {
    await this.#beat(new Round(() => {})).catch((error: unknown) => {
      this.#options.log.warn({ reason: messageOf(error) }, FAILED);
    });
    if (!this.#closing) this.loop.start(this.#options.clock.now() + HEARTBEAT_MS);
  }

  /** The cautious time after an unclean stop is over. */
  async survived(): Promise<void> {
    await this.#client?.query("update executor set unclean_stops = 0 where instance_id = $1", [
      this.#options.instanceId,
    ]);
  }

  /** The run that is advanced alone from now on and blamed if the process ends; clears the previous one. */
  async suspect(runId: RunId | undefined): Promise<void> {
    await this.#client?.query(
      `with cleared as (
         update runs r set blamed = 0 from executor e where e.instance_id = $1 and r.id = e.suspect and r.blamed > 0)
       ${MARK_SUSPECT}`,
      [this.#options.instanceId, runId ?? null],
    );
  }

  /** A look without an answer ends with its connection when another takes its place. */
  async #beat(round: Round): Promise<void> {
    round.signal.addEventListener("abort", () => this.#closing || this.#drop());
    try {
      await (this.#holds ? this.#keep() : this.#tryFor(round));
    } catch (error) {
      // A later look may have another connection.
      if (!round.signal.aborted) this.#drop();
      throw error;
    }
  }

  async #keep(): Promise<void> {
    const { instanceId, clock } = this.#options;
    const { rowCount } = await this.#client!.query("update executor set heartbeat_at = $2 where instance_id = $1", [
      instanceId,
      new Date(clock.now()),
    ]);
    if (rowCount === 0) throw new Error("another process has taken over");
  }

  async #tryFor(round: Round): Promise<void> {
    const client = this.#client ?? (await this.#connect(round));
    const { rows } = await client.query<{ taken: boolean }>(`select pg_try_advisory_lock(${LOCK}) as taken`);
    if (!rows[0]!.taken) return this.#watchHolder(client, round);
    const predecessor = await this.#enter(client);
    if (this.#client !== client) throw new Error(GIVEN_UP);
    this.#holds = true;
    this.#options.elected(predecessor);
  }

  async #connect(round: Round): Promise<Client> {
    const { database } = this.#options;
    const client = await database.dedicated(database.isEmbedded ? undefined : SILENT_MS);
    if (round.signal.aborted && !this.#closing) {
      void client.end().catch(() => {});
      throw new Error(GIVEN_UP);
    }
    this.#client = client;
    client.once("end", () => {
      if (this.#client === client) this.#drop();
    });
    return client;
  }

  async #enter(client: Client): Promise<Predecessor> {
    const { instanceId, clock } = this.#options;
    const { rows } = await client.query<{ before: InstanceId | null; unclean_stops: number }>(
      `with before as (select * from executor), blame as (
         update runs r set blamed = blamed + 1 from before b
           where r.id = b.suspect and r.owner = b.instance_id and b.instance_id <> $1)
       insert into executor (instance_id, backend_pid, heartbeat_at, stopped_cleanly, unclean_stops)
       values ($1, pg_backend_pid(), $2, false, 0)
       on conflict (singleton) do update set
         instance_id = excluded.instance_id, backend_pid = excluded.backend_pid, heartbeat_at = excluded.heartbeat_at,
         stopped_cleanly = false,
         unclean_stops = case when executor.stopped_cleanly then 0
           when executor.instance_id = excluded.instance_id or executor.suspect is not null then executor.unclean_stops
           else executor.unclean_stops + 1 end,
         suspect = null
       returning (select instance_id from before) as before, unclean_stops`,
      [instanceId, new Date(clock.now())],
    );
    const { before, unclean_stops: uncleanStops } = rows[0]!;
    return { instanceId: before ?? undefined, uncleanStops: before === instanceId ? 0 : uncleanStops };
  }

  async #watchHolder(client: Client, round: Round): Promise<void> {
    const { rows } = await client.query<{ heartbeat_at: Date; backend_pid: number }>("select * from executor");
    const holder = rows[0];
    if (!holder) return;
    const heartbeat = holder.heartbeat_at.getTime();
    if (this.#seen?.heartbeat !== heartbeat) this.#seen = { heartbeat, looks: 0 };
    else if (++this.#seen.looks >= DEAD_AFTER_LOOKS) await this.#replace(client, holder.backend_pid, round);
  }

  async #replace(client: Client, backend: number, round: Round): Promise<void> {
    this.#options.log.warn("the executing process gives no sign of life: ending its database session");
    this.#seen = undefined;
    await client.query(
      `select pg_terminate_backend(pid, ${ENDING_MS}) from pg_locks
        where pid = $1 and locktype = 'advisory' and granted limit 1`,
      [backend],
    );
    await this.#tryFor(round);
  }

  #drop(): void {
    const client = this.#client;
    this.#client = undefined;
    this.#seen = undefined;
    void client?.end().catch(() => {});
    if (!this.#holds) return;
    this.#holds = false;
    if (!this.#closing) this.#options.lost();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing = true;
    await this.loop[Symbol.asyncDispose]();
    if (this.#holds) {
      await this.#client
        ?.query(
          "update executor set stopped_cleanly = true, unclean_stops = 0, suspect = null where instance_id = $1",
          [this.#options.instanceId],
        )
        .catch(() => {});
    }
    const client = this.#client;
    this.#drop();
    await client?.end().catch(() => {});
  }
}
